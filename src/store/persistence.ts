/** Asking the browser to keep the data when it runs short of room. */

let asked: Promise<boolean> | null = null;

/**
 * Asks once per page or worker. Call it when a visitor starts a run, not before: some browsers show a prompt. Workers
 * cannot ask (`persist` exists on pages only), so a page whose store lives in a worker calls this itself.
 * @returns whether the data is safe from automatic clearing
 */
export function askPersistence(): Promise<boolean> {
  asked ??= ask();
  return asked;
}

async function ask(): Promise<boolean> {
  try {
    const storage: Partial<StorageManager> | undefined = navigator.storage;
    if (await storage?.persisted?.()) return true;
    return (await storage?.persist?.()) ?? false;
  } catch {
    return false; // no answer is a no: nothing depends on it but a badge
  }
}
