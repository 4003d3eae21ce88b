import DataLoader from 'dataloader';
import { wasRolledBack } from './database-errors.js';

/** Longest wait for the previous statement, in ms, so that one that waits for a lock does not hold up the next. */
const MAX_BATCH_WAIT_MS = 100;
/** Number of parts into which a rejected statement is split; one part per item would need too many connections. */
const PARTS = 4;

/**
 * Combines calls of the same moment into one statement (group commit): calls that arrive while a statement runs go with
 * the next one, and a single call is sent at once. `send` returns one result per item, in order, and must write for all
 * items or for none; it gets at most `most` items.
 *
 * Items succeed or fail independently: if Postgres rejects a statement with several items, they are sent again in
 * smaller parts. If the outcome of a statement is unknown, all of its items throw, because each may have been written.
 */
export function batched<Item extends object | string, Answer>(
  send: (items: readonly Item[]) => Promise<readonly Answer[]>,
  most = Infinity,
): (item: Item) => Promise<Answer> {
  let previous: Promise<unknown> = Promise.resolve();
  const loader = new DataLoader<Item, Answer>(
    (items) => {
      const answers = sendAll(send, items);
      previous = settledOr(answers, MAX_BATCH_WAIT_MS);
      return answers;
    },
    {
      cache: false,
      maxBatchSize: most,
      // Wait one more turn of the event loop, to include calls that meanwhile arrived on other connections.
      batchScheduleFn: (dispatch) => void previous.then(() => setImmediate(dispatch)),
    },
  );
  return (item) => loader.load(item);
}

async function sendAll<Item, Answer>(
  send: (items: readonly Item[]) => Promise<readonly Answer[]>,
  items: readonly Item[],
): Promise<readonly (Answer | Error)[]> {
  try {
    return await send(items);
  } catch (error) {
    if (items.length === 1 || !wasRolledBack(error)) throw error;
    const size = Math.ceil(items.length / PARTS);
    const parts = Array.from({ length: Math.ceil(items.length / size) }, (_, part) =>
      items.slice(part * size, (part + 1) * size),
    );
    const answers = parts.map((part) => sendAll(send, part).catch((cause: unknown) => part.map(() => toError(cause))));
    return (await Promise.all(answers)).flat();
  }
}

/** Never rejects. */
async function settledOr(answers: Promise<unknown>, ms: number): Promise<void> {
  await new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, ms);
    const settled = (): void => {
      clearTimeout(timer);
      resolve();
    };
    answers.then(settled, settled);
  });
}

function toError(cause: unknown): Error {
  return cause instanceof Error ? cause : new Error('the statement failed', { cause });
}
