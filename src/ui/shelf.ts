/** Notebooks kept in this browser, over the store. */
import type { LabErrorParts } from '../core/errors';
import { parseDocument } from '../notebook/document';
import { openStore } from '../store/open';
import type { NotebookShelf } from './services';

/**
 * @throws LabError store.*
 */
export async function openNotebookShelf(onNotice: (notice: LabErrorParts) => void): Promise<NotebookShelf> {
  const store = await openStore({ onNotice });
  if (store.volatile) onNotice(store.volatile);
  return {
    persistent: store.persistent,
    list: async () => (await store.listDrafts()).map(({ id, title, savedAt }) => ({ id, title, updatedAt: savedAt })),
    load: async (id) => {
      const draft = await store.loadDraft(id);
      return draft ? parseDocument(draft.value, 'draft') : null;
    },
    save: (id, document) => store.saveDraft(id, document.title, document),
    delete: (id) => store.deleteDraft(id),
  };
}
