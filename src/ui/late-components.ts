/** Components that nobody sees before pressing something: loaded at a visitor's first sign, not with the page. */
import '@awesome.me/webawesome/dist/components/dialog/dialog.js';
import '@awesome.me/webawesome/dist/components/drawer/drawer.js';
