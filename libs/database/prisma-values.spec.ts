import { inList } from './prisma-values.js';

it.each([
  [[], []],
  [['a'], ['a']],
  [
    ['a', 'b'],
    ['a', 'b'],
  ],
  [
    ['a', 'b', 'c'],
    ['a', 'b', 'c', 'c'],
  ],
  [
    ['a', 'b', 'c', 'd', 'e'],
    ['a', 'b', 'c', 'd', 'e', 'e', 'e', 'e'],
  ],
])('makes %j as long as a power of two', (values, list) => {
  expect(inList(values)).toEqual(list);
});
