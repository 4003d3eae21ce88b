import DataLoader from 'dataloader';
import { wasRolledBack } from './database-errors.js';

/** A statement that waits for a lock holds up those behind it for no longer, in ms. */
const LONGEST_TURN_MS = 100;
/** Into which a refused statement is divided: as many as it has items would wait for connections. */
const PARTS = 4;

/**
 * Lets what many want of the database at one moment travel as one statement: whatever comes while one is on its way goes with
 * the next, and what comes alone goes at once (group commit). `send` answers for each item, in their order, and writes either
 * for all of them or for none; it gets `most` of them at a time.
 *
 * Items succeed or fail alone: when Postgres refuses a statement of several, it is sent again in parts. When it does not
 * say what became of a statement, all of its items throw, since each may have been written.
 */
export function batched<Item extends object | string, Answer>(
  send: (items: readonly Item[]) => Promise<readonly Answer[]>,
  most = Infinity,
): (item: Item) => Promise<Answer> {
  let turn: Promise<unknown> = Promise.resolve();
  const loader = new DataLoader<Item, Answer>(
    (items) => {
      const answers = sendAll(send, items);
      turn = settledOr(answers, LONGEST_TURN_MS);
      return answers;
    },
    {
      cache: false,
      maxBatchSize: most,
      // By the next turn of the event loop all that has come in over other connections meanwhile is there, too.
      batchScheduleFn: (dispatch) => void turn.then(() => setImmediate(dispatch)),
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
