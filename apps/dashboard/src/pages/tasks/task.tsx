import {
  ActionIcon,
  Box,
  Breadcrumbs,
  Button,
  Code,
  Grid,
  Group,
  Image,
  List,
  Skeleton,
  Stack,
  Text,
  Title,
} from '@mantine/core';
import { IconZoomIn } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { useState, type ReactNode } from 'react';
import { amountIn } from '#contract/money.js';
import { useFollowTask } from '../../api/follow-task.ts';
import { taskQuery, useMay } from '../../api/queries.ts';
import { RequestError } from '../../api/request.ts';
import type { TaskDetail } from '../../api/types.ts';
import { CodeTabs, CopyIconButton } from '../../parts/copy.tsx';
import { Cost } from '../../parts/cost.tsx';
import { dayOf, dimensions, duration, fullTime, money, shortPrompt } from '../../parts/format.ts';
import { ImageGrid, TakeImage } from '../../parts/image-grid.tsx';
import { NotFoundPage, PageFrame, Trouble } from '../../parts/page.tsx';
import { snippetsOf } from '../../parts/snippets.ts';
import { SandboxMark, StoredImage } from '../../parts/stored-image.tsx';
import { TaskLink } from '../../parts/task-link.tsx';
import { TaskState } from '../../parts/task-state.tsx';
import { TOKEN_LABELS } from '../../parts/token-classes.ts';
import { useOrderer } from '../../parts/use-orderer.ts';
import { Attempt } from '../../parts/attempt.tsx';
import { DecideTask } from '../../parts/decide-task.tsx';
import { Cancel } from '../../parts/cancel-task.tsx';
import { DeleteTasks } from '../../parts/delete-tasks.tsx';
import { TaskLightbox } from '../playground/task-lightbox.tsx';
import { OpenInPlayground, RunTaskAgain } from './task-actions.tsx';
import type { TaskFilters } from './task-filters.ts';
import { Receipt } from './receipt.tsx';
import { SentImages } from './sent-images.tsx';
import { TaskError } from '../../parts/task-error.tsx';
import { TaskBars } from './task-bars.tsx';
import { TaskTimeline } from './task-timeline.tsx';
import { TaskWebhooks } from './task-webhooks.tsx';

const REFRESH_MS = 5_000;
const GONE = 'This image is no longer available.';
const route = getRouteApi('/inside/tasks/$id');

export function TaskPage() {
  const may = useMay();
  const mayChange = may('tasks.create');
  const seesAll = may('tasks.read_all');
  const { id } = route.useParams();
  const {
    data: task,
    error,
    refetch,
  } = useQuery({
    ...taskQuery(id),
    // For changes without an event, such as the time of the next attempt.
    refetchInterval: ({ state }) => (state.data?.status === 'pending' ? REFRESH_MS : false),
  });
  const partial = useFollowTask(id, task?.status === 'pending');
  if (error instanceof RequestError && error.status === 404)
    return (
      <NotFoundPage
        title="Task"
        trail={<Trail name="Task" />}
        heading="Task not found"
        action={
          <Button component={Link} to="/tasks" variant="default">
            View all tasks
          </Button>
        }
      >
        {seesAll
          ? 'It may belong to another account, or its record has expired.'
          : 'You see only tasks that you made here or with your keys. It may be a colleague’s, belong to another account, or its record has expired.'}
      </NotFoundPage>
    );
  // The prompt is only in the title, never in a URL or a log.
  const isDeleted = task !== undefined && task.deleted_at !== null;
  const name = task === undefined ? 'Task' : shortPrompt(task.prompt) || (isDeleted ? 'Deleted task' : 'Task');
  return (
    <PageFrame
      title={name}
      named
      trail={<Trail name={name} />}
      about={<CopiedId id={id} label="Copy task ID" />}
      actions={
        task === undefined ? undefined : (
          <Group gap="xs">
            {task.retried_as !== null && <ViewRetry id={task.retried_as} />}
            <DecideTask task={task} />
            {mayChange && task.deleted_at === null && (
              <>
                {task.status === 'pending' ? <Cancel task={task} /> : <RunTaskAgain task={task} />}
                <OpenInPlayground task={task} />
                <DeleteTasks ids={[task.id]} label="Delete" arePending={task.status === 'pending'} />
              </>
            )}
            <TakeImage task={task} />
          </Group>
        )
      }
    >
      {error !== null && <Trouble error={error} doing="Could not load the task" onRetry={() => void refetch()} />}
      {task === undefined ? (
        error === null && <Skeleton height={420} radius="lg" />
      ) : (
        <Grid gap="lg">
          <Grid.Col span={{ base: 12, md: 7 }}>
            <Stack gap="lg">
              <TaskImage task={task} partial={partial} />
              {!isDeleted && (
                <Section title="Request">
                  <Text className="prompt">{task.prompt}</Text>
                </Section>
              )}
              {(task.reference_images.length > 0 || task.mask !== null || task.markup !== null) && (
                <Section title="Input images">
                  <SentImages task={task} />
                </Section>
              )}
              {!isDeleted && (
                <Section title="Request as code">
                  <CodeTabs codes={snippetsOf(requestOf(task))} />
                </Section>
              )}
              {task.webhook_deliveries.length > 0 && (
                <Section title="Webhook deliveries">
                  <TaskWebhooks id={task.id} />
                </Section>
              )}
            </Stack>
          </Grid.Col>
          <Grid.Col span={{ base: 12, md: 5 }}>
            <Stack gap="lg">
              <Section title="Details">
                <Facts task={task} />
              </Section>
              {task.warnings.length > 0 && (
                <Section title="Warnings">
                  <List size="sm" spacing={4}>
                    {task.warnings.map((warning) => (
                      <List.Item key={warning}>{warning}</List.Item>
                    ))}
                  </List>
                </Section>
              )}
              <Section title="Timeline">
                <TaskBars task={task} />
                <TaskTimeline task={task} />
              </Section>
            </Stack>
          </Grid.Col>
        </Grid>
      )}
    </PageFrame>
  );
}

/** Comes before the other actions, because the task was already retried. */
function ViewRetry({ id }: { readonly id: string }) {
  return <Button renderRoot={(props) => <Link to="/tasks/$id" params={{ id }} {...props} />}>View retry</Button>;
}

/** An id on one line; if it is cut off, the button still copies all of it. */
function CopiedId({ id, label }: { readonly id: string; readonly label: string }) {
  return (
    <Group gap={4} wrap="nowrap">
      <Code className="whole-id">{id}</Code>
      <CopyIconButton value={id} label={label} />
    </Group>
  );
}

function Trail({ name }: { readonly name: string }) {
  return (
    <Breadcrumbs component="nav" aria-label="Breadcrumb" mb={4} style={{ flexWrap: 'nowrap' }}>
      <Link to="/tasks" className="text-link">
        Tasks
      </Link>
      <Text size="sm" c="dimmed" truncate aria-current="page">
        {name}
      </Text>
    </Breadcrumbs>
  );
}

function Section({ title, children }: { readonly title: string; readonly children: ReactNode }) {
  return (
    <Box className="surface" p="lg" component="section">
      <Title order={2} fz="sm" fw={600} mb="sm">
        {title}
      </Title>
      {children}
    </Box>
  );
}

function TaskImage({ task, partial }: { readonly task: TaskDetail; readonly partial: string | null }) {
  if (task.deleted_at !== null)
    return (
      <Box className="surface" p="lg">
        <Text c="dimmed">
          Deleted on {dayOf(task.deleted_at)}. Its prompt and images are erased; what it cost stays for usage and
          billing.
        </Text>
        <Receipt id={task.id} />
      </Box>
    );
  if (task.images.length > 0) return <TaskImages task={task} />;
  if (task.status === 'failed' || task.status === 'cancelled') return <TaskError task={task} />;
  if (task.status === 'completed')
    return (
      <Box className="surface" p="lg">
        <Text c="dimmed">
          {task.images_deleted_at === null
            ? GONE
            : `Image deleted on ${dayOf(task.images_deleted_at)}: images are kept for a limited time.`}{' '}
          Run the task again to generate a new one.
        </Text>
      </Box>
    );
  return (
    <Box className="surface" p="sm">
      {partial === null ? (
        <Box className="wait-shimmer" h={320} bdrs="md" />
      ) : (
        <Image src={partial} alt="Partial image" radius="md" mah="70vh" fit="contain" />
      )}
      <Attempt task={task} said mt="sm" ta="center" />
    </Box>
  );
}

function TaskImages({ task }: { readonly task: TaskDetail }) {
  const [viewed, setViewed] = useState<number | null>(null);
  const [image, ...others] = task.images;
  return (
    <Box className="surface" p="sm" pos="relative">
      {image !== undefined && others.length === 0 ? (
        <>
          <StoredImage
            url={image.url}
            alt={task.prompt}
            missing={GONE}
            radius="md"
            mah="70vh"
            fit="contain"
            className="image-ground"
            onClick={() => setViewed(0)}
            style={{ cursor: 'zoom-in' }}
          />
          <ActionIcon
            variant="default"
            pos="absolute"
            bottom={20}
            right={20}
            aria-label="View image"
            onClick={() => setViewed(0)}
          >
            <IconZoomIn size={16} />
          </ActionIcon>
        </>
      ) : (
        <ImageGrid task={task} missing={GONE} onOpen={setViewed} />
      )}
      <TaskLightbox
        images={task.images.map((_, index) => ({ taskId: task.id, index }))}
        shown={viewed}
        onShow={setViewed}
        onClose={() => setViewed(null)}
      />
    </Box>
  );
}

function Facts({ task }: { readonly task: TaskDetail }) {
  const orderer = useOrderer()(task);
  const took = task.finished_at === null ? null : Date.parse(task.finished_at) - Date.parse(task.created_at);
  const facts: [string, ReactNode][] = [
    [
      'Status',
      <Group key="state" gap={6}>
        <TaskState task={task} />
        {task.sandbox && <SandboxMark small />}
      </Group>,
    ],
    ['Type', task.action === 'edit' ? 'Edit' : 'Generation'],
    ['Model', task.model],
    ['Key', task.key.name],
    ['Requested', `${dimensions(task.size)}${task.resolution === null ? '' : ` at ${task.resolution.toUpperCase()}`}`],
    ...Object.entries(task.options).map(([name, value]): [string, ReactNode] => [labelOf(name), String(value)]),
    ['Created', fullTime(task.created_at)],
    ...(orderer === null ? [] : [['Created by', orderer] satisfies [string, ReactNode]]),
    ...(task.provider === null ? [] : [['Provider', task.provider] satisfies [string, ReactNode]]),
    ...(took === null ? [] : [['Duration', duration(took)] satisfies [string, ReactNode]]),
    ['Cost', <TaskCost key="cost" cost={task.cost} finished_at={task.finished_at} />],
    ...tokenFacts(task.cost),
    ...(task.sizes === undefined ? [] : sizeFacts(task.sizes)),
    ...(task.provenance === undefined
      ? []
      : [['Provenance', PROVENANCE[task.provenance]] satisfies [string, ReactNode]]),
    ...(task.images_expire_at === null
      ? []
      : [['Image kept until', fullTime(task.images_expire_at)] satisfies [string, ReactNode]]),
    ...labelFacts(task),
    ...linkedFact('Retried as', task.retried_as),
    ...linkedFact('Retry of', task.retry_of),
    ['Request ID', <CopiedId key="request" id={task.request_id} label="Copy request ID" />],
  ];
  return (
    <dl className="facts">
      {facts.map(([name, value]) => (
        <Fact key={name} name={name} value={value} />
      ))}
    </dl>
  );
}

/** IDs are too long to fit next to their names. */
const IDS = ['End user', 'Retried as', 'Retry of', 'Request ID'];

function Fact({ name, value }: { readonly name: string; readonly value: ReactNode }) {
  const look = IDS.includes(name) ? { className: 'own-line' } : {};
  return (
    <>
      <dt {...look}>{name}</dt>
      <dd {...look}>{value}</dd>
    </>
  );
}

/** The end user and the tags; each links to its tasks. */
function labelFacts({ end_user: user, tags }: TaskDetail): [string, ReactNode][] {
  const link = (search: TaskFilters, name: string) => (
    <Link key={name} to="/tasks" search={search} className="text-link">
      {name}
    </Link>
  );
  return [
    ...(user === null ? [] : [['End user', link({ end_user: user }, user)] satisfies [string, ReactNode]]),
    ...(tags.length === 0
      ? []
      : [
          [
            'Tags',
            <Group key="tags" gap={6}>
              {tags.map((tag) => link({ tag }, tag))}
            </Group>,
          ] satisfies [string, ReactNode],
        ]),
  ];
}

function linkedFact(name: string, id: string | null): [string, ReactNode][] {
  return id === null ? [] : [[name, <TaskLink key={name} id={id} />]];
}

/** The provenance metadata of the image file. */
const PROVENANCE = { kept: 'As the provider wrote it', marked: 'Marked as generated', none: 'None' };

function sizeFacts({ requested, sent, received }: NonNullable<TaskDetail['sizes']>): [string, ReactNode][] {
  return [
    ['Size requested', dimensions(requested)],
    ['Size sent', dimensions(sent)],
    ['Size received', dimensions(received)],
  ];
}

const COST_NOTES = { reserved: ' (reserved)', settled: '', unpriced: '' };

function TaskCost({ cost, finished_at: finishedAt }: Pick<TaskDetail, 'cost' | 'finished_at'>) {
  if (cost?.state === 'refunded') return money(cost);
  // Its tokens may have a price, and are not counted yet.
  if (cost?.state === 'unpriced' && finishedAt === null) return money(cost);
  return (
    <>
      <Cost cost={cost} />
      {cost !== null && COST_NOTES[cost.state]}
    </>
  );
}

/** What the cost consists of; it is less than their sum if an image has a maximum. */
function tokenFacts(cost: TaskDetail['cost']): [string, ReactNode][] {
  return (cost?.token_costs ?? []).map(({ class: name, tokens, amount }) => [
    TOKEN_LABELS[name],
    `${tokens.toLocaleString('en')} tokens, ${amountIn(amount, cost?.currency ?? '')}`,
  ]);
}

function labelOf(name: string): string {
  if (name === 'n') return 'Images';
  return name.charAt(0).toUpperCase() + name.slice(1).replaceAll('_', ' ');
}

/** Options that don't affect the image. */
const UNSHOWN: readonly string[] = ['partial_images', 'user'];

function requestOf(task: TaskDetail) {
  const { quality, n, ...others } = task.options;
  const count = task.reference_images.length;
  const options = Object.entries(others).filter(
    (entry): entry is [string, string | number] =>
      (typeof entry[1] === 'string' || typeof entry[1] === 'number') &&
      !UNSHOWN.includes(entry[0]) &&
      entry[1] !== 'png',
  );
  return {
    model: task.model,
    prompt: task.prompt,
    size: task.size,
    ...(task.resolution === null ? {} : { resolution: task.resolution }),
    ...(typeof quality === 'string' ? { quality } : {}),
    ...(typeof n === 'number' ? { n } : {}),
    options: Object.fromEntries(options),
    files: Array.from({ length: count }, (_, index) => (count === 1 ? 'image.png' : `image-${index + 1}.png`)),
    ...(task.mask !== null ? { overlay: 'mask' as const } : {}),
    ...(task.markup !== null ? { overlay: 'markup' as const } : {}),
  };
}
