/** `npm run --silent bench -- <name>`: measurements. One JSON line on stdout; nothing here passes or fails. */
import { measurePageTasks } from './page-tasks';

/** Each benchmark, by name. */
const benches: Readonly<Record<string, () => Promise<unknown>>> = {
  page: measurePageTasks,
};

const name = process.argv[2] ?? '';
const bench = Object.hasOwn(benches, name) ? benches[name] : undefined;
if (bench) console.log(JSON.stringify({ bench: name, ...((await bench()) as object) }));
else {
  console.error(`error: Unknown benchmark "${name}": expected one of ${Object.keys(benches).join(', ')}.`);
  process.exitCode = 2;
}
