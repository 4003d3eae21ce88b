import { ActionIcon, type ActionIconProps } from '@mantine/core';
import { IconStar, IconStarFilled } from '@tabler/icons-react';
import { taskQuery } from '../api/queries.ts';
import { send } from '../api/request.ts';
import type { TaskRow } from '../api/types.ts';
import { whileBusy } from './busy.tsx';
import { useSave } from './use-save.ts';

interface FavoriteStarProps extends ActionIconProps {
  readonly task: Pick<TaskRow, 'id' | 'favorite' | 'prompt'>;
  /** Position such as "2 of 12", which tells equal prompts apart. */
  readonly place: string;
  readonly tabIndex?: number;
  readonly title?: string;
  /** Size of its icon, in px. */
  readonly icon?: number;
}

/** Makes a task a favorite, or no longer one. */
export function FavoriteStar({ task, place, icon = 13, ...look }: FavoriteStarProps) {
  const { isPending, toggle } = useFavorite(task);
  const { favorite, prompt } = task;
  return (
    <ActionIcon
      className="star"
      size={24}
      variant="default"
      {...look}
      data-on={favorite}
      aria-pressed={favorite}
      aria-label={`Favorite: ${prompt.slice(0, 60)}, ${place}`}
      {...whileBusy(isPending)}
      onClick={toggle}
    >
      {favorite ? <IconStarFilled size={icon} /> : <IconStar size={icon} />}
    </ActionIcon>
  );
}

function useFavorite({ id, favorite }: Pick<TaskRow, 'id' | 'favorite'>) {
  const change = useSave({
    send: () => send(favorite ? 'DELETE' : 'POST', `/tasks/${id}/favorite`),
    stale: [{ queryKey: ['tasks'] }, taskQuery(id)],
    failed: 'Could not change the favorite',
  });
  return {
    isPending: change.isPending,
    toggle: () => {
      if (!change.isPending) change.mutate();
    },
  };
}
