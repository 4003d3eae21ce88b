import { callMode } from './image-query.js';

const mode = (prefer?: string | string[], asynchronous = false) => callMode({ prefer, asynchronous }, 100_000);

describe('callMode', () => {
  it('waits as long as the window by default', () => {
    expect(mode()).toMatchObject({ asynchronous: false, waitMs: 100_000, preferred: false });
    expect(mode('handling=lenient')).toMatchObject({ asynchronous: false, waitMs: 100_000 });
  });

  it.each([
    ['respond-async', false],
    ['Respond-Async; foo=bar', false],
    [['return=minimal', 'respond-async'], false],
    [undefined, true],
  ])('answers at once when asked to: %p %p', (prefer, asynchronous) => {
    expect(mode(prefer, asynchronous)).toMatchObject({ asynchronous: true, waitMs: 0, preferred: true });
  });

  it('waits N seconds, within the window, and then answers with the task if that was asked for too', () => {
    expect(mode('respond-async, wait=7')).toMatchObject({ asynchronous: true, waitMs: 7_000, waitSeconds: 7 });
    expect(mode('wait="7"')).toMatchObject({ asynchronous: false, waitMs: 7_000 });
    expect(mode('wait=5000')).toMatchObject({ waitMs: 100_000 });
  });

  it.each(['wait=0', 'wait=-1', 'wait=x', 'wait=1.5', 'wait', 'wait=99999999999'])('ignores "%s"', (prefer) => {
    expect(mode(prefer)).toMatchObject({ asynchronous: false, waitMs: 100_000, waitSeconds: undefined });
  });
});
