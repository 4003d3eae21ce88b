import { readModerationDetails } from './moderation-details.js';

describe('moderation details', () => {
  it.each([
    [
      { categories: ['sexual'], moderation_stage: 'output' },
      { categories: ['sexual'], moderation_stage: 'output' },
    ],
    [
      { categories: ['hate', 'hate'], moderation_stage: 'later' },
      { categories: ['hate'], moderation_stage: 'unknown' },
    ],
    [{ moderation_stage: 'input' }, { categories: [], moderation_stage: 'input' }],
    [
      { categories: ['a\nb', 7, 'x'.repeat(65), '<b>'], moderation_stage: 'input' },
      { categories: [], moderation_stage: 'input' },
    ],
    [{ categories: 'sexual' }, undefined],
    [{}, undefined],
    [null, undefined],
    ['sexual', undefined],
  ])('of %j are %j', (value, details) => {
    expect(readModerationDetails(value)).toEqual(details);
  });

  it('are few', () => {
    const categories = Array.from({ length: 100 }, (_, index) => `category-${index}`);
    expect(readModerationDetails({ categories })?.categories).toHaveLength(16);
  });
});
