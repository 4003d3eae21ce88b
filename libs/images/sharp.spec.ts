import { withImageSlot } from './sharp.js';

describe('a slot for image work', () => {
  /** Takes every slot until `free`. */
  function takeAll(): { free: () => Promise<void> } {
    let open = (): void => undefined;
    const gate = new Promise<void>((resolve) => (open = resolve));
    const works = Array.from({ length: 3 }, () => withImageSlot(() => gate));
    return {
      async free() {
        open();
        await Promise.all(works);
      },
    };
  }

  test.each([
    ['a small image', 0],
    ['a large image', 20_000_000],
  ])('is not kept for %s whose task has ended, and the next waiters get their turn', async (_name, pixels) => {
    const slots = takeAll();
    const begun: string[] = [];
    const wait = (name: string, signal?: AbortSignal): Promise<unknown> =>
      withImageSlot(() => Promise.resolve(begun.push(name)), pixels, signal);
    const task = new AbortController();
    const first = wait('first');
    const ended = ['second', 'third'].map((name) => wait(name, task.signal));
    const others = ['fourth', 'fifth'].map((name) => wait(name));
    const reason = new Error('the task was canceled');
    task.abort(reason);
    // Before any slot is free.
    for (const left of ended) await expect(left).rejects.toBe(reason);
    await expect(wait('sixth', task.signal)).rejects.toBe(reason);
    expect(begun).toEqual([]);
    await slots.free();
    await Promise.all([first, ...others]);
    expect(begun).toEqual(['first', 'fourth', 'fifth']);
  });

  test('is free again after work that failed, and work that has begun is not cut off', async () => {
    const slots = takeAll();
    const failed = withImageSlot(() => Promise.reject(new Error('damaged')));
    const task = new AbortController();
    const begun = withImageSlot(
      async () => {
        task.abort();
        return Promise.resolve('done');
      },
      0,
      task.signal,
    );
    await Promise.all([expect(failed).rejects.toThrow('damaged'), expect(begun).resolves.toBe('done'), slots.free()]);
  });
});
