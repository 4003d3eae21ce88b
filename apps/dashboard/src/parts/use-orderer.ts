import { useSession } from '../api/queries.ts';
import type { TaskRow } from '../api/types.ts';

/**
 * The name of the user who ordered a task in the console, from the reader's view; null for a task ordered with a key.
 */
export function useOrderer(): (task: Pick<TaskRow, 'ordered_by'>) => string | null {
  const { person } = useSession();
  return ({ ordered_by: user }) => (user?.id === person.id ? 'You' : (user?.name ?? null));
}
