import { readDirectives } from './directives.js';

test('are taken out of the prompt', () => {
  expect(readDirectives('a cat [[latency=8s]] on a\n mat [[fault=http-500 times=2]] [[pending=1s]]')).toEqual({
    prompt: 'a cat on a mat',
    latency: 8000,
    pending: 1000,
    fault: 'http-500',
    faultTimes: 2,
    unknown: [],
  });
});

test.each([
  ['[[latency=250ms]]', 250],
  ['[[ LATENCY=1.5s ]]', 1500],
  ['[[latency=999999999s]]', 3_600_000],
])('%s waits %d ms', (prompt, latency) => expect(readDirectives(prompt)).toMatchObject({ prompt: '', latency }));

test('what is not understood is named and left out of the image', () => {
  const { prompt, unknown, fault, latency } = readDirectives(
    'x [[fault=banana]] [[latency=-1s]] [[dance]] [not one] [[]]',
  );
  expect({ prompt, unknown, fault, latency }).toEqual({
    prompt: 'x [not one]',
    unknown: ['fault=banana', 'latency=-1s', 'dance', ''],
    fault: undefined,
    latency: 0,
  });
});

test('a fault without a count happens every time', () => {
  expect(readDirectives('[[fault=hang]]').faultTimes).toBe(Infinity);
});
