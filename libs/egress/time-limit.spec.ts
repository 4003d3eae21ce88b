import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { timeLimit } from './time-limit.js';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

describe('timeLimit', () => {
  it('ends a call however much garbage is collected meanwhile', async () => {
    const silent = createServer(() => undefined).listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const url = `http://127.0.0.1:${(silent.address() as AddressInfo).port}/`;
    const collecting = setInterval(collectGarbage, 20);
    const signals = [() => timeLimit(300), () => timeLimit(300, new AbortController().signal)];
    const calls = Array.from({ length: 10 }, (_, n) => fetch(url, { signal: signals[n % 2]?.() ?? null }));
    const ends = await Promise.allSettled(calls);
    clearInterval(collecting);
    silent.closeAllConnections();
    silent.close();
    expect(ends).toEqual(
      ends.map(() => ({ status: 'rejected', reason: expect.objectContaining({ name: 'TimeoutError' }) })),
    );
  }, 20_000);

  it('aborts with the reason of the signal that it was given', () => {
    const caller = new AbortController();
    const signal = timeLimit(60_000, caller.signal);
    caller.abort(new Error('not wanted any more'));
    expect(signal.reason).toEqual(new Error('not wanted any more'));
  });
});
