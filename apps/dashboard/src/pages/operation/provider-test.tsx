import { Box, Button, Code, Group, Image, Loader, Select, Stack, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { BusyButton } from '../../parts/busy.tsx';
import { useFollowTask } from '../../api/follow-task.ts';
import type { Provider } from '../../api/operation.ts';
import { queryClient, taskQuery } from '../../api/queries.ts';
import { send } from '../../api/request.ts';
import type { AcceptedTask, Money, TaskDetail } from '../../api/types.ts';
import { Dialog } from '../../parts/dialog.tsx';
import { duration, money } from '../../parts/format.ts';
import { Trouble } from '../../parts/page.tsx';
import { Attempt } from '../../parts/attempt.tsx';
import { TaskState } from '../../parts/task-state.tsx';
import { TaskLink } from '../../parts/task-link.tsx';
import { TaskError } from '../../parts/task-error.tsx';
import { hasNoPath, MISSING_PATH } from './base-url.ts';

/** Generates one small image with this provider only, after showing the price. */
export function TestButton({ provider }: { readonly provider: Provider }) {
  const [opened, { open, close }] = useDisclosure(false);
  return (
    <>
      <Button variant="default" size="xs" onClick={open} aria-label={`Test ${provider.name}`}>
        Test
      </Button>
      <Dialog opened={opened} onClose={close} title={`Test ${provider.name}`}>
        <Trial provider={provider} />
      </Dialog>
    </>
  );
}

function Trial({ provider }: { readonly provider: Provider }) {
  const { name, trials, drained } = provider;
  const isPaused = drained === null && (provider.breaker !== 'closed' || provider.rests_ms > 0);
  const although = drained !== null ? ', although it is drained' : isPaused ? ', although it is paused' : '';
  const [model, setModel] = useState(trials[0]?.model ?? '');
  const test = useMutation({
    mutationFn: () => send<AcceptedTask>('POST', `/providers/${encodeURIComponent(name)}/test`, { model }),
  });
  const tested = useQuery({ ...taskQuery(test.data?.task_id ?? ''), enabled: test.data !== undefined }).data;
  const next = tested?.status === 'failed' ? 'Try again' : 'Generate another';
  const trial = trials.find((one) => one.model === model);
  return (
    <Stack>
      <Text size="sm">
        Generates one small image with {name} only, the same way as any other image{although}.{' '}
        {isPaused && 'If it succeeds, the pause ends. '}
        {priceText(trial?.cost ?? null)} It takes up to two minutes.
      </Text>
      {trials.length > 1 && (
        <Select
          label="Model"
          data={trials.map((one) => one.model)}
          value={model}
          allowDeselect={false}
          disabled={test.isPending}
          onChange={(value) => setModel(value ?? model)}
        />
      )}
      {test.error !== null && <Trouble error={test.error} doing="Could not start the test" />}
      {test.data !== undefined && <TrialResult id={test.data.task_id} provider={provider} />}
      <Group justify="flex-end">
        <BusyButton busy={test.isPending} onClick={() => test.mutate()}>
          {test.data === undefined ? 'Generate test image' : next}
        </BusyButton>
      </Group>
    </Stack>
  );
}

interface TrialResultProps {
  readonly id: string;
  readonly provider: Provider;
}

function TrialResult({ id, provider }: TrialResultProps) {
  const { data: task, error } = useQuery(taskQuery(id));
  const isOver = task !== undefined && task.status !== 'pending';
  useFollowTask(id, !isOver);
  // The test changes what the page shows about the provider.
  useEffect(() => {
    if (isOver) void queryClient.invalidateQueries({ queryKey: ['operation'] });
  }, [isOver]);
  if (error !== null) return <Trouble error={error} doing="Could not load the test task" />;
  if (task === undefined || task.status === 'pending')
    return (
      <Group gap="sm" aria-live="polite">
        <Loader size="sm" />
        {task === undefined ? <Text size="sm">Starting</Text> : <Attempt task={task} />}
      </Group>
    );
  return (
    <Stack gap="sm" aria-live="polite">
      {task.status === 'completed' ? <Generated task={task} /> : <TaskError task={task} />}
      {task.status === 'failed' && <Said task={task} />}
      {task.status === 'failed' && task.calls > 0 && <Called provider={provider} />}
      <TaskLink id={id}>Open task</TaskLink>
    </Stack>
  );
}

function Generated({ task }: { readonly task: TaskDetail }) {
  const image = task.images[0];
  const took = task.finished_at === null ? 0 : Date.parse(task.finished_at) - Date.parse(task.created_at);
  return (
    <Group align="flex-start" wrap="nowrap">
      {image !== undefined && <Image src={image.url} alt="Test image" w={140} h={140} radius="md" fit="cover" />}
      <Box>
        <TaskState task={task} />
        <Text size="sm" mt="xs">
          Took {duration(took)}
        </Text>
        <Text size="sm">{task.cost === null ? 'Free of charge' : `Cost ${money(task.cost)}`}</Text>
      </Box>
    </Group>
  );
}

/** The provider's own message for its last failure, if any. */
function Said({ task }: { readonly task: TaskDetail }) {
  const said = task.timeline.findLast(({ event }) => event === 'provider_call')?.provider_message;
  if (said === undefined) return null;
  return (
    <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
      The provider said: {said}
    </Text>
  );
}

/** The URL that a failed test called, which may reveal a mistake. */
function Called({ provider: { type, images_url: url } }: { readonly provider: Provider }) {
  if (url === null) return null;
  const isBare = type === 'openai' && hasNoPath(url.replace(/\/images\/generations$/, ''));
  return (
    <>
      <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
        Called <Code>{url}</Code>
      </Text>
      {isBare && <Text size="sm">{MISSING_PATH}</Text>}
    </>
  );
}

function priceText(cost: Money | null): string {
  if (cost === null) return 'It is free.';
  if (cost.amount === null)
    return 'The provider may charge for it; the cost is not recorded because this model has no price.';
  return `It costs ${money(cost)}, charged to your account.`;
}
