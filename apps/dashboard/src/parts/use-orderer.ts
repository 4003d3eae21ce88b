import { useSession } from '../api/queries.ts';
import type { TaskRow } from '../api/types.ts';

/** Names the user who ordered a task in the console, as the reader knows them; null for one that was ordered with a key. */
export function useOrderer(): (task: Pick<TaskRow, 'ordered_by'>) => string | null {
  const { person } = useSession();
  return ({ ordered_by: user }) => (user?.id === person.id ? 'You' : (user?.name ?? null));
}
