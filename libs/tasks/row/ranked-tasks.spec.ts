import { ranked, type Ranking } from './ranked-tasks.js';

const TASKS = [
  { id: 'runs', durationMs: null, cost: 3 },
  { id: 'quick', durationMs: 10, cost: 1 },
  { id: 'slow', durationMs: 900, cost: null },
  { id: 'quick too', durationMs: 10, cost: 2 },
];

describe('tasks in an order that no index knows', () => {
  it.each<[Ranking, string[]]>([
    ['longest', ['slow', 'quick', 'quick too', 'runs']],
    ['shortest', ['quick', 'quick too', 'slow', 'runs']],
    ['costliest', ['runs', 'quick too', 'quick', 'slow']],
    ['cheapest', ['quick', 'quick too', 'runs', 'slow']],
  ])('are %s first, and those without a figure last', (ranking, ids) => {
    expect(ranked(TASKS, ranking).map(({ id }) => id)).toEqual(ids);
  });
});
