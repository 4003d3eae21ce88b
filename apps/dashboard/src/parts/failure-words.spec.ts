import { reasonOf } from './failure-words.ts';

it('says what failed in words, also of a code that it has none for', () => {
  expect(reasonOf('moderation_blocked')).toBe('Blocked by moderation');
  expect(reasonOf('code_of_tomorrow')).toBe('Code of tomorrow');
});
