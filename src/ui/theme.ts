/** Light or dark: the visitor's choice, else the system's. The choice is remembered in this browser only. */
export type ThemeChoice = 'auto' | 'light' | 'dark';
export type Theme = 'light' | 'dark';

const STORAGE_KEY = 'lab.theme';
const darkQuery = matchMedia('(prefers-color-scheme: dark)');
const listeners = new Set<(theme: Theme) => void>();

function stored(): ThemeChoice {
  try {
    const value = localStorage.getItem(STORAGE_KEY);
    return value === 'light' || value === 'dark' ? value : 'auto';
  } catch {
    return 'auto'; // storage can be forbidden; the system's theme is right then
  }
}

let choice = stored();

export function themeChoice(): ThemeChoice {
  return choice;
}

/** The theme in effect. */
export function theme(): Theme {
  return choice === 'auto' ? (darkQuery.matches ? 'dark' : 'light') : choice;
}

function apply(): void {
  const now = theme();
  const root = document.documentElement;
  root.classList.toggle('wa-dark', now === 'dark');
  root.classList.toggle('wa-light', now === 'light');
  root.style.colorScheme = now;
  for (const listener of listeners) listener(now);
}

/** Sets and remembers the choice. */
export function chooseTheme(next: ThemeChoice): void {
  choice = next;
  try {
    if (next === 'auto') localStorage.removeItem(STORAGE_KEY);
    else localStorage.setItem(STORAGE_KEY, next);
  } catch {
    // not remembered, still applied
  }
  apply();
}

/** Calls back on every change of the theme in effect. @returns a function that ends it */
export function onTheme(listener: (theme: Theme) => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

darkQuery.addEventListener('change', apply);
apply();
