/** What a reload of a tab must not lose; files and blobs among it. */
interface KeptFiles {
  readonly tab: string;
  readonly owner: string;
  /** ms since 1970 */
  readonly savedAt: number;
  readonly part: object;
}

const DATABASE = 'darkroom-draft';
const STORE = 'files';
/** A tab that was closed leaves its files behind. */
const MAX_AGE_MS = 24 * 3_600_000;
const PATIENCE_MS = 3_000;

/** Keeps a tab's files in the browser, in place of those before. */
export async function keepFiles(tab: string, owner: string, part: object): Promise<void> {
  const kept: KeptFiles = { tab, owner, savedAt: Date.now(), part };
  await inStore('readwrite', (store) => store.put(kept));
}

/** A tab's files, if they are still there and the user's own; also deletes what others have left behind. */
export async function filesOf(tab: string, owner: string): Promise<object | undefined> {
  const all = (await inStore('readonly', (store) => store.getAll())) as KeptFiles[];
  const isOld = (kept: KeptFiles) => kept.owner !== owner || Date.now() - kept.savedAt > MAX_AGE_MS;
  for (const { tab: other } of all.filter(isOld)) await inStore('readwrite', (store) => store.delete(other));
  return all.find((kept) => kept.tab === tab && !isOld(kept))?.part;
}

export async function forgetTab(tab: string): Promise<void> {
  await inStore('readwrite', (store) => store.delete(tab));
}

/** Of all tabs. */
export async function forgetFiles(): Promise<void> {
  await inStore('readwrite', (store) => store.clear());
}

/** Rejects when the browser keeps nothing, as in some private windows, or does not answer. */
async function inStore(mode: IDBTransactionMode, work: (store: IDBObjectStore) => IDBRequest): Promise<unknown> {
  const late = AbortSignal.timeout(PATIENCE_MS);
  const opening = indexedDB.open(DATABASE, 1);
  opening.onupgradeneeded = () => opening.result.createObjectStore(STORE, { keyPath: 'tab' });
  const database = await settled(opening, late);
  try {
    return await settled(work(database.transaction(STORE, mode).objectStore(STORE)), late);
  } finally {
    database.close();
  }
}

function settled<Answer>(request: IDBRequest<Answer>, late: AbortSignal): Promise<Answer> {
  return new Promise((resolve, reject) => {
    late.addEventListener('abort', () => reject(new Error('The browser’s storage does not answer.')));
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error ?? new Error('The browser’s storage failed.'));
  });
}
