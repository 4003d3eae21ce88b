import { Box, Group, Text, UnstyledButton, VisuallyHidden } from '@mantine/core';
import { useQueries } from '@tanstack/react-query';
import { taskQuery } from '../../api/queries.ts';
import { shortPrompt } from '../../parts/format.ts';
import { Thumbnail } from '../../parts/stored-image.tsx';
import type { Turn } from './draft.ts';
import { linesOf } from './thread-lines.ts';

interface ThreadProps {
  readonly turns: readonly Turn[];
  readonly current: string | null;
  readonly onPick: (taskId: string) => void;
}

/** The conversation that the shown image belongs to: its turns in order, and each branch on a line of its own. */
export function Thread({ turns, current, onPick }: ThreadProps) {
  const lines = linesOf(turns, current);
  const ids = [...new Set(lines.flat())];
  const tasks = useQueries({ queries: ids.map((id) => taskQuery(id)) });
  if (current === null || ids.length < 2) return null;
  const byId = new Map(ids.map((id, index) => [id, tasks[index]?.data]));
  return (
    <Box component="section" aria-label="Conversation">
      <Text size="sm" fw={600} mb={6}>
        Conversation
      </Text>
      {lines.map((line, index) => (
        <Group key={line.join(' ')} gap={6} mb={6} aria-label={`Branch ${index + 1}`} role="group">
          {line.map((id) => {
            const task = byId.get(id);
            return (
              <UnstyledButton
                key={id}
                className="thread-turn"
                aria-pressed={id === current}
                title={shortPrompt(task?.prompt ?? '')}
                onClick={() => onPick(id)}
              >
                <VisuallyHidden>{shortPrompt(task?.prompt ?? 'Image')}</VisuallyHidden>
                {task !== undefined && <Thumbnail task={task} size={52} />}
              </UnstyledButton>
            );
          })}
        </Group>
      ))}
    </Box>
  );
}
