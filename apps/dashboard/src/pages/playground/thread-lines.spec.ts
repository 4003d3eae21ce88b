import { linesOf } from './thread-lines.ts';

describe('the lines of a conversation', () => {
  const turns = ['a b', 'b c', 'a d', 'd e', 'b f', 'x y'].map((pair) => {
    const [parentId = '', taskId = ''] = pair.split(' ');
    return { taskId, parentId };
  });

  it.each(['a', 'b', 'c', 'd', 'e', 'f'])('are the same from any of its turns: %s', (id) => {
    expect(linesOf(turns, id).map((line) => line.join(''))).toEqual(['abc', 'ade', 'bf']);
  });

  it('are of that conversation alone', () => {
    expect(linesOf(turns, 'y')).toEqual([['x', 'y']]);
    expect(linesOf(turns, 'z')).toEqual([['z']]);
    expect(linesOf(turns, null)).toEqual([]);
  });
});
