import { namesTag, wantedRange } from './conditions.js';

const TAG = '"task_1-1.png"';

describe('namesTag', () => {
  it.each([TAG, `W/${TAG}`, `"other", ${TAG}`, `"other",W/${TAG} , "x"`, '*', ' * '])('finds it in %s', (header) => {
    expect(namesTag(header, TAG)).toBe(true);
  });

  it.each([undefined, '', 'task_1-1.png', '"task_1-1"', 'W/"other"', '"a"*'])('does not find it in %s', (header) => {
    expect(namesTag(header, TAG)).toBe(false);
  });
});

describe('wantedRange', () => {
  it.each([
    ['bytes=0-9', { first: 0, last: 9 }],
    ['Bytes = 5 - ', { first: 5 }],
    ['bytes=-500', { suffix: 500 }],
  ])('reads %s', (header, range) => {
    expect(wantedRange(header, undefined, TAG)).toEqual(range);
    expect(wantedRange(header, TAG, TAG)).toEqual(range);
  });

  it.each([undefined, '', 'bytes=', 'bytes=-', 'bytes=9-0', 'bytes=0-1,5-6', 'lines=0-9', 'bytes=a-b', 'bytes 0-9'])(
    'leaves %s to the whole image',
    (header) => {
      expect(wantedRange(header, undefined, TAG)).toBeUndefined();
    },
  );

  it.each(['"another"', `W/${TAG}`, 'Sat, 28 Nov 2026 10:00:00 GMT'])('is nothing if If-Range is %s', (ifRange) => {
    expect(wantedRange('bytes=0-9', ifRange, TAG)).toBeUndefined();
  });
});
