import type { Turn } from './draft.ts';

/**
 * The turns of the conversation that a task belongs to, as lines of task ids: each begins with what it branches from,
 * and goes on with the first order from there; every other order from there begins a line of its own.
 */
export function linesOf(turns: readonly Turn[], taskId: string | null): string[][] {
  if (taskId === null) return [];
  const parents = new Map(turns.map((turn) => [turn.taskId, turn.parentId]));
  let root = taskId;
  // A task is newer than what it continues from, so this ends.
  for (let parent = parents.get(root); parent !== undefined; parent = parents.get(root)) root = parent;
  const lines: string[][] = [];
  const follow = (line: string[]): void => {
    lines.push(line);
    const branches: string[][] = [];
    for (let last = line.at(-1); last !== undefined;) {
      const from = last;
      const [next, ...others] = turns.filter(({ parentId }) => parentId === from).map((turn) => turn.taskId);
      branches.push(...others.map((other) => [from, other]));
      if (next !== undefined) line.push(next);
      last = next;
    }
    for (const branch of branches) follow(branch);
  };
  follow([root]);
  return lines;
}
