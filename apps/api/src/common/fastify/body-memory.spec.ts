import fc from 'fast-check';
import type { FastifyRequest } from 'fastify';
import { AppError } from '#contract/app-error.js';
import { ApiConfig } from '../api.config.js';
import { BodyBytes } from './body-bytes.js';
import { BodyReservation, BodyMemory } from './body-memory.js';
import { bodySourceOf } from './json-body.js';

/** A memory of so many bytes. */
function memoryOf(bytes: number): BodyMemory {
  return new BodyMemory({ ...new ApiConfig(), bodyMemory: bytes });
}

/** How much of it one source gets in steps of so many bytes. */
function filled(memory: BodyMemory, source: string, step = 1): number {
  for (let taken = 0; ; taken += step) {
    try {
      memory.reserve(step, source);
    } catch (error) {
      expect(error).toMatchObject({ code: 'server_is_overloaded', retryAfter: 2 });
      return taken;
    }
  }
}

describe('BodyMemory', () => {
  it('H1: one source gets half, and whoever comes next still something', () => {
    const memory = memoryOf(900);
    expect(filled(memory, 'one')).toBe(450);
    expect(filled(memory, 'two')).toBe(225);
    expect(filled(memory, 'three')).toBe(112);
    memory.release(450, 'one');
    expect(filled(memory, 'three')).toBeGreaterThan(150);
  });

  it('H1: what a response can do without leaves room for requests of the same source', () => {
    const memory = memoryOf(900);
    const response = new BodyReservation(memory, 'one');
    let held = 0;
    while (response.tryReserve(10)) held += 10;
    expect([held, memory.held]).toEqual([300, 300]);
    expect(filled(memory, 'one')).toBe(150);
    response.release();
    expect(memory.held).toBe(150);
  });

  it('H1: a user of the console is a source of their own, except for what they draw', () => {
    const session = { personId: 'person_1', accountId: 'acct_1' };
    const from = (config: object, who: object) =>
      bodySourceOf({ ip: '192.0.2.1', routeOptions: { config }, ...who } as unknown as FastifyRequest);
    expect(from({}, { session })).toBe('person person_1');
    expect(from({ largeBody: true }, { session })).toBe('account acct_1');
    expect(from({}, { caller: { accountId: 'acct_1' } })).toBe('account acct_1');
    expect(from({}, {})).toMatch(/^network 192\.0\.2\./);
  });

  it('never holds more than its limit, and nothing once all is given back', () => {
    const step = fc.record({ source: fc.constantFrom('a', 'b', 'c'), bytes: fc.integer({ min: 0, max: 700 }) });
    fc.assert(
      fc.property(fc.array(step), (steps) => {
        const memory = memoryOf(1_000);
        const holds = steps.flatMap(({ source, bytes }) => {
          const hold = new BodyReservation(memory, source);
          try {
            hold.reserve(bytes);
          } catch (error) {
            if (!(error instanceof AppError)) throw error;
          }
          expect(memory.held).toBeLessThanOrEqual(1_000);
          return hold;
        });
        for (const hold of [...holds, ...holds]) hold.release();
        expect(memory.held).toBe(0);
      }),
    );
  });
});

describe('BodyBytes', () => {
  it('H1: pieces of any size cost their bytes and as much again, and stay what they were', () => {
    const sizes = fc.array(fc.oneof(fc.integer({ min: 1, max: 40 }), fc.integer({ min: 1, max: 90_000 })), {
      maxLength: 60,
    });
    fc.assert(
      fc.property(sizes, fc.boolean(), (list, isAnnounced) => {
        const memory = memoryOf(1e9);
        const total = list.reduce((sum, size) => sum + size, 0);
        const body = new BodyBytes(60 * 90_000, isAnnounced ? total : 0, new BodyReservation(memory, 'a'));
        for (const [at, size] of list.entries()) body.append(Buffer.alloc(size, at));
        expect(body.whole.equals(Buffer.concat(list.map((size, at) => Buffer.alloc(size, at))))).toBe(true);
        expect(memory.held).toBeLessThanOrEqual(Math.max(4_096, 2 * total));
        body.free();
        expect([memory.held, body.length]).toEqual([0, 0]);
      }),
    );
  });

  it('H1: of large bodies that arrive in step the first get in, and not none', () => {
    const memory = memoryOf(32e6);
    const bodies = Array.from({ length: 8 }, () => new BodyBytes(6e6, 6e6, new BodyReservation(memory, 'a')));
    const left = new Set(bodies);
    for (let step = 0; step < 12; step++) {
      for (const body of left) {
        try {
          body.append(Buffer.alloc(500_000));
        } catch {
          body.free();
          left.delete(body);
        }
      }
    }
    expect([...left].map(({ length }) => length)).toEqual([6e6, 6e6]);
  });

  it('keeps its bytes while somebody uses them', async () => {
    const body = new BodyBytes(100, 0, new BodyReservation(memoryOf(1e6), 'a'));
    body.append(Buffer.from('abc'));
    await body.during(async () => {
      body.free();
      await Promise.resolve();
      expect(body.whole.toString()).toBe('abc');
    });
    expect(body.length).toBe(0);
  });
});
