import { jest } from '@jest/globals';
import { text } from 'node:stream/consumers';
import { EventStream } from './event-stream.js';

const noop = (): void => undefined;

describe('EventStream', () => {
  it('writes events as a browser reads them', async () => {
    const events = new EventStream(15_000, noop);
    events.event('task.updated', { a: 'line\nbreak' });
    events.end();
    expect(await text(events.body)).toBe('event: task.updated\ndata: {"a":"line\\nbreak"}\n\n');
  });

  it('pings while nothing happens, and no more once it has ended', async () => {
    jest.useFakeTimers();
    const events = new EventStream(15_000, noop);
    jest.advanceTimersByTime(30_000);
    events.end();
    jest.advanceTimersByTime(30_000);
    jest.useRealTimers();
    expect(await text(events.body)).toBe(': ping\n\n: ping\n\n');
  });

  it('keeps the latest event for a caller that does not read, not all of them', async () => {
    const events = new EventStream(15_000, noop);
    for (let count = 0; count <= 10_000; count++) events.latest('task.updated', { count, padding: 'x'.repeat(500) });
    events.end();
    const received = await text(events.body);
    expect(received.length).toBeLessThan(100_000);
    expect(received).toContain('"count":0,');
    expect(received.trimEnd().split('\n\n').at(-1)).toContain('"count":10000,');
  });

  it('tells once when its caller has left, and takes what is sent after that', async () => {
    let closed = 0;
    const left = new Promise<void>((resolve) => {
      const events = new EventStream(15_000, () => {
        closed++;
        resolve();
      });
      events.body.destroy();
      events.event('task.updated', {});
      events.end();
    });
    await left;
    expect(closed).toBe(1);
  });
});
