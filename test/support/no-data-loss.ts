import { isDeepStrictEqual } from 'node:util';
import { loadConfig } from '#config/load-config.js';
import { waitUntil } from '#embedded/wait-until.js';
import { createObjectStore } from '#storage/create-object-store.js';
import { StorageConfig } from '#storage/storage.config.js';
import { counted, measured } from './figures.js';
import type { Platform } from './platform.js';

interface StoredInput {
  readonly key?: string;
  /** It came with a request that failed by its own fault. */
  readonly deleted?: boolean;
}

interface StoredTask {
  readonly id: string;
  readonly status: string;
  readonly inputs: StoredInput[];
  readonly mask: StoredInput | null;
}

/** Keys of all uploads in the platform's store, sorted. */
export async function storedInputs(platform: Platform): Promise<string[]> {
  const keys: string[] = [];
  for await (const key of (await createObjectStore(loadConfig([StorageConfig], platform.settings)[0])).list(
    'inputs/',
  )) {
    keys.push(key);
  }
  return keys.sort();
}

/**
 * What must hold after every storm: both processes alive and ready, no response caused by a bug, every accepted task
 * ended, and exactly the uploads of accepted tasks in the store that were not deleted with a failure. Throws with what does not hold.
 * `storm` is its name among the figures of docs/failure.md.
 */
export async function expectNoDataLoss(platform: Platform, storm: string): Promise<void> {
  count(platform, storm);
  for (const role of [platform.api, platform.worker]) {
    expect(process.kill(role.pid, 0)).toBe(true);
    expect((await fetch(`${role.url}/readyz`)).status).toBe(200);
    const bugs = role.logs().filter((line) => line['code'] === 'internal_error' || line['level'] === 'fatal');
    expect(bugs).toEqual([]);
  }
  const tasks = async (): Promise<StoredTask[]> =>
    (await platform.pool.query<StoredTask>('SELECT id, status, inputs, mask FROM tasks')).rows;
  await waitUntil(async () => (await tasks()).every(({ status }) => status !== 'pending'), { timeoutMs: 60_000 });
  expect((await tasks()).filter(({ status }) => status === 'pending')).toEqual([]);
  // Uploads of callers that hung up, and those of a failed task, are deleted shortly afterwards.
  let expected: string[] = [];
  let stored: string[] = [];
  const areSame = async (): Promise<boolean> => {
    const referenced = (await tasks()).flatMap(({ inputs, mask }) => [...inputs, ...(mask === null ? [] : [mask])]);
    expected = referenced.flatMap(({ key, deleted }) => (deleted ? [] : (key ?? []))).sort();
    stored = await storedInputs(platform);
    return isDeepStrictEqual(stored, expected);
  };
  await waitUntil(areSame, { timeoutMs: 20_000 });
  expect(stored).toEqual(expected);
}

/** From the API's log, which has a line for every valid request; probes get 503 until the process is ready. */
function count({ api }: Platform, storm: string): void {
  const requests = api
    .logs()
    .filter(({ event, route }) => (event === 'request' || event === 'request.aborted') && route !== '/readyz');
  const failures = requests.filter(({ status }) => Number(status) >= 500).length;
  const slowest = Math.max(...requests.map(({ durationMs }) => Number(durationMs)));
  counted(storm, 'requests, of these answered 5xx, processes ended', `${requests.length}, ${failures}, 0`);
  measured(storm, 'longest time to an answer', slowest);
}
