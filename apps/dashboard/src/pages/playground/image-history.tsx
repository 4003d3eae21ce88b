import { Box, Group, Text, UnstyledButton, VisuallyHidden } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { get } from '../../api/request.ts';
import type { TaskPage } from '../../api/types.ts';
import { Thumbnail } from '../../parts/stored-image.tsx';
import { TaskState } from '../../parts/task-state.tsx';

const SHOWN = 12;

interface ImageHistoryProps {
  readonly current: string | null;
  readonly onPick: (id: string) => void;
}

/** What was made in the console lately; a click shows it again. */
export function ImageHistory({ current, onPick }: ImageHistoryProps) {
  const { data } = useQuery({
    queryKey: ['tasks', 'playground'],
    queryFn: ({ signal }) => get<TaskPage>('/tasks', { limit: SHOWN, key: 'playground' }, signal),
  });
  if (data === undefined || data.data.length === 0) return null;
  return (
    <Box>
      <Text size="sm" fw={600} mb="xs">
        Recent
      </Text>
      <Group gap="xs">
        {data.data.map((task) => (
          <UnstyledButton
            key={task.id}
            className="history-item"
            aria-pressed={task.id === current}
            title={task.prompt}
            onClick={() => onPick(task.id)}
          >
            <VisuallyHidden>{task.prompt}</VisuallyHidden>
            {task.status === 'completed' ? <Thumbnail task={task} size={84} /> : <TaskState task={task} />}
          </UnstyledButton>
        ))}
      </Group>
    </Box>
  );
}
