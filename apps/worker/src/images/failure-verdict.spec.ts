import { AppError } from '#contract/app-error.js';
import { ImageError } from '#images/image-error.js';
import { ProviderError } from '#providers/provider-error.js';
import { StorageError } from '#storage/object-store.js';
import { TransitionUnanswered } from '#tasks/states/task-transitions.js';
import { NoProviderFree, ImageNotStored, StartNotCounted, verdictOn, withoutPrompt } from './failure-verdict.js';
import { DeadlinePassed, LeaseLost, ShuttingDown } from './leases.js';

const PAID = { free: false, interrupted: 'fail' } as const;
const FREE = { free: true, interrupted: 'retry' } as const;
const BOLD = { free: false, interrupted: 'retry' } as const;
const facts = { starts: 1, maxStarts: 3, tries: 1, provider: PAID, prompt: 'a lighthouse at night', resumable: false };

function providerError(charged: 'no' | 'maybe' | 'yes', retryable = true): ProviderError {
  return new ProviderError('upstream_error', 'The provider failed.', { retryable, charged });
}

describe('verdictOn', () => {
  it('leaves a task alone that another worker holds', () => {
    expect(verdictOn(new LeaseLost(), facts)).toEqual({ kind: 'leave' });
  });

  it('releases a task at once when the process stops', () => {
    expect(verdictOn(new ShuttingDown(), facts)).toEqual({ kind: 'release', delayMs: 0 });
  });

  it('starts again only after a failure that was proven not to be charged', () => {
    expect(verdictOn(providerError('no'), facts).kind).toBe('release');
    expect(verdictOn(providerError('maybe'), facts).kind).toBe('fail');
    expect(verdictOn(providerError('yes'), facts).kind).toBe('fail');
    expect(verdictOn(providerError('no', false), facts).kind).toBe('fail');
  });

  it('repeats a doubtful start where nothing is charged at all', () => {
    expect(verdictOn(providerError('maybe'), { ...facts, provider: FREE }).kind).toBe('release');
  });

  it('repeats a doubtful start, but none that was surely charged, where the operator has said so', () => {
    expect(verdictOn(providerError('maybe'), { ...facts, provider: BOLD }).kind).toBe('release');
    expect(verdictOn(providerError('yes'), { ...facts, provider: BOLD }).kind).toBe('fail');
    expect(verdictOn(new ImageNotStored('disk full'), { ...facts, provider: BOLD }).kind).toBe('fail');
  });

  it('lets a job that its provider has named go on when only the asking is cut short', () => {
    const named = { ...facts, resumable: true };
    expect(verdictOn(new ShuttingDown(), named)).toEqual({ kind: 'park', delayMs: 0 });
    expect(verdictOn(new NoProviderFree(5_000), named)).toEqual({ kind: 'park', delayMs: 5_000 });
    expect(verdictOn(providerError('maybe'), named).kind).toBe('fail');
    expect(verdictOn(providerError('no'), named).kind).toBe('release');
  });

  it('lets a task wait while nobody is free, at least a second and at most half a minute', () => {
    const delays = [0, 1_500.5, 999_999].map((ms) =>
      verdictOn(new NoProviderFree(ms), { ...facts, tries: 99, starts: 3 }),
    );
    expect(delays).toEqual([1_000, 1_501, 30_000].map((delayMs) => ({ kind: 'release', delayMs, wait: true })));
  });

  it('never exceeds the cap on starts', () => {
    expect(verdictOn(providerError('no'), { ...facts, starts: 3 })).toMatchObject({
      kind: 'fail',
      error: { code: 'upstream_error' },
    });
  });

  it('waits longer after each start, as long as the provider asks, and never beyond half a minute', () => {
    const asked = new ProviderError('upstream_error', 'x', { retryable: true, charged: 'no', retryAfter: 7 });
    const delays = [1, 2, 6].map((starts) => verdictOn(providerError('no'), { ...facts, starts, maxStarts: 9 }));
    expect(delays).toMatchObject([{ delayMs: 1_000 }, { delayMs: 2_000 }, { delayMs: 30_000 }]);
    expect(verdictOn(asked, facts)).toEqual({ kind: 'release', delayMs: 7_000 });
  });

  it('tells the caller what was wrong with its image', () => {
    const bad = new AppError('invalid_mask', 'The mask has no alpha channel.', { param: 'mask' });
    expect(verdictOn(bad, facts)).toEqual({ kind: 'fail', error: bad });
    expect(verdictOn(new ImageError('image_too_large', 'Too many pixels.'), facts)).toMatchObject({
      error: { code: 'image_too_large', status: 400 },
    });
  });

  it('tries a store that fails again, but not for ever', () => {
    expect(verdictOn(new StorageError('disk full'), facts).kind).toBe('release');
    expect(verdictOn(new StorageError('disk full'), { ...facts, tries: 20 })).toMatchObject({
      error: { code: 'storage_error' },
    });
  });

  it('never orders an image again because the store did not take it, unless that is free', () => {
    const lost = new ImageNotStored('disk full');
    expect(verdictOn(lost, facts)).toMatchObject({ kind: 'fail', error: { code: 'storage_error' } });
    expect(verdictOn(lost, { ...facts, provider: FREE }).kind).toBe('release');
    expect(verdictOn(lost, { ...facts, provider: FREE, starts: 3 }).kind).toBe('fail');
  });

  it('does not blame a task for a database that did not answer', () => {
    expect(verdictOn(new StartNotCounted('not counted'), facts)).toEqual({ kind: 'release', delayMs: 1_000 });
    expect(verdictOn(new TransitionUnanswered('no answer'), facts)).toEqual({ kind: 'leave' });
  });

  it('calls a passed deadline by its name and a bug an internal error', () => {
    expect(verdictOn(new DeadlinePassed(), facts)).toMatchObject({ error: { code: 'generation_timeout' } });
    const bug = verdictOn(new TypeError('cannot read secret of undefined'), facts);
    expect(bug).toMatchObject({ error: { code: 'internal_error' } });
    expect(bug.kind === 'fail' && bug.error.message).not.toContain('secret');
  });
});

describe('withoutPrompt', () => {
  const prompt = 'a lighthouse at night,\nwith a red door and a small garden in front of it';

  it.each([
    ['Busy.', 'Busy.'],
    [`Rejected: “${prompt.replace('\n', ' ')}”.`, 'Rejected: “[prompt]”.'],
    ['Rejected: a lighthouse at night, with a red…', 'Rejected: [prompt]…'],
    ['Rejected: …and a small garden in front of it', 'Rejected: …[prompt]'],
    ['It has a red door.', 'It has a red door.'],
  ])('%s', (message, shown) => {
    expect(withoutPrompt(message, prompt)).toBe(shown);
  });

  it('keeps what a prompt of one word may be', () => {
    expect(withoutPrompt('The model is busy.', 'model')).toBe('The model is busy.');
  });
});
