import { lastUse } from './last-use.ts';

it('is that of the key that was used last, wherever it is in the list', () => {
  const uses = [null, '2026-11-24T14:05:00.000Z', '2026-11-24T14:31:00.000Z', null].map((at) => ({ last_used_at: at }));
  expect(lastUse(uses)).toBe('2026-11-24T14:31:00.000Z');
  expect(lastUse([{ last_used_at: null }])).toBeNull();
});
