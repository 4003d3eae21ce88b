import { inConsoleWords, reasonOf } from './failure-words.ts';

it('says what failed in words, also of a code that it has none for', () => {
  expect(reasonOf('moderation_blocked')).toBe('Blocked by moderation');
  expect(reasonOf('code_of_tomorrow')).toBe('Code of tomorrow');
});

it.each([
  ['image[2]', 'The PNG file is damaged or incomplete.', 'Reference 3: The PNG file is damaged or incomplete.'],
  ['image[0]', 'image[0] is larger than 50 MB', 'Reference 1 is larger than 50 MB'],
  ['image', 'image is empty', 'Reference 1 is empty'],
  ['mask', 'mask is empty', 'mask is empty'],
  ['image_urls[1]', 'The image could not be downloaded.', 'The image could not be downloaded.'],
  [null, 'The provider failed.', 'The provider failed.'],
])('names the reference image that %j stands for', (param, message, shown) => {
  expect(inConsoleWords(message, param)).toBe(shown);
});
