import { Alert, Code, Text } from '@mantine/core';
import type { TaskDetail } from '../api/types.ts';
import { IconAlertTriangle } from '@tabler/icons-react';
import { inConsoleWords, reasonOf } from './failure-words.ts';
import { TaskLink } from './task-link.tsx';

type Moderation = NonNullable<NonNullable<TaskDetail['error']>['moderation_details']>;

/** Why there is no image. */
export function TaskError({ task }: { readonly task: TaskDetail }) {
  if (task.status === 'cancelled')
    return (
      <Alert color="gray" variant="light" title="Task canceled">
        No image was delivered. The cost is shown in the task’s details.
      </Alert>
    );
  return (
    <Alert color="red" variant="light" icon={<IconAlertTriangle size={18} />} title={titleOf(task)} role="alert">
      <Text size="sm">{messageOf(task)}</Text>
      {task.error?.moderation_details !== undefined && (
        <Text size="sm" mt={6}>
          {blockedText(task.error.moderation_details)}
        </Text>
      )}
      {task.error?.code !== undefined && task.error.code !== null && (
        <Text size="xs" mt={6}>
          <Code>{task.error.code}</Code> · request <Code>{task.request_id}</Code>
        </Text>
      )}
      {task.retried_as !== null && (
        <Text size="sm" mt={6}>
          Retried as <TaskLink id={task.retried_as} />
        </Text>
      )}
    </Alert>
  );
}

/** Callers with a key know the fields of their request. */
function messageOf({ error, ordered_by: user }: TaskDetail): string {
  if (error === undefined) return 'The task failed for an unknown reason.';
  return user === null ? error.message : inConsoleWords(error.message, error.param);
}

/** "Blocked in the request: sexual, violence" */
function blockedText({ categories, moderation_stage: stage }: Moderation): string {
  const where = { input: 'Blocked in the request', output: 'Blocked in the generated image', unknown: 'Blocked' }[
    stage
  ];
  return categories.length === 0 ? `${where}.` : `${where}: ${categories.join(', ')}.`;
}

/** "No image: the provider failed" */
function titleOf({ error }: TaskDetail): string {
  const code = error?.code ?? null;
  if (code === null) return 'No image was generated';
  const reason = reasonOf(code);
  return `No image: ${reason.charAt(0).toLowerCase()}${reason.slice(1)}`;
}
