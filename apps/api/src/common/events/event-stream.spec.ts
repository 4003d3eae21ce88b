import { jest } from '@jest/globals';
import { text } from 'node:stream/consumers';
import { ApiConfig } from '../api.config.js';
import { EventStream } from './event-stream.js';
import { BodyReservation, BodyMemory } from '../fastify/body-memory.js';

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

  it('leaves out what it is offered while there is no memory for it, and says the end all the same', async () => {
    const config = { ...new ApiConfig(), bodyMemory: 5_600_000 };
    const hold = new BodyReservation(new BodyMemory(config), 'account a');
    const events = new EventStream(15_000, noop, hold);
    for (let index = 0; index < 10; index++) events.offer('partial', { index, image: 'x'.repeat(450_000) });
    events.event('error', {});
    events.end();
    const received = await text(events.body);
    expect([...received.matchAll(/"index":(\d)/g)].map(([, index]) => index)).toEqual(['0', '1', '2', '3']);
    expect(received).toContain('event: error\n');
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
