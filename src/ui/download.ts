/** Files out of the page, and text to the clipboard. */

/** Offers a file for download. */
export function download(content: Blob | string, name: string, type = 'text/plain'): void {
  const blob = typeof content === 'string' ? new Blob([content], { type }) : content;
  const url = URL.createObjectURL(blob);
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  // The browser has taken its own reference by the next task; a minute covers slow ones.
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}

/** @returns whether the text is on the clipboard; browsers refuse without a user's gesture or a secure page */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}
