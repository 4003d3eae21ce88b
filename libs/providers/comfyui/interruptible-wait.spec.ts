import { InterruptibleWait } from './interruptible-wait.js';

const HOUR_MS = 3_600_000;
const never = new AbortController().signal;

describe('a pause that can be ended early', () => {
  it('ends when it is rung, before or while it is on', async () => {
    const alarm = new InterruptibleWait();
    alarm.interrupt();
    expect(await alarm.wait(HOUR_MS, never)).toBe(true);
    const pause = alarm.wait(HOUR_MS, never);
    alarm.interrupt();
    expect(await pause).toBe(true);
  });

  it('ends by itself, and an interrupt before it is forgotten', async () => {
    const alarm = new InterruptibleWait();
    alarm.interrupt();
    await alarm.wait(HOUR_MS, never);
    expect(await alarm.wait(1, never)).toBe(false);
  });

  it('ends with the signal’s reason', async () => {
    const alarm = new InterruptibleWait();
    const stop = new AbortController();
    const reason = new Error('cancelled');
    const pause = alarm.wait(HOUR_MS, stop.signal);
    stop.abort(reason);
    await expect(pause).rejects.toBe(reason);
    await expect(alarm.wait(HOUR_MS, stop.signal)).rejects.toBe(reason);
  });
});
