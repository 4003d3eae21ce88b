import { ActionIcon, Box, Button, Group, SimpleGrid, Stack, Text, Title } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useMutation, useQueries, useQuery } from '@tanstack/react-query';
import { useMemo, useState } from 'react';
import { IconPlus, IconX, IconZoomIn } from '@tabler/icons-react';
import { queryClient, taskQuery } from '../../api/queries.ts';
import { quoteQuery, type Quote } from '../../api/quotes.ts';
import { newIdempotencyKey } from '../../api/request.ts';
import type { ImageOrder, Model } from '../../api/types.ts';
import { Trouble } from '../../parts/page.tsx';
import { priceText, quoteText } from '../../parts/quote.ts';
import { CompareClosely } from './compare-closely.tsx';
import { bestOf, type Best } from './best-of.ts';
import type { ChangeDraft, ComparedOrder, Draft } from './draft.ts';
import { FilledNote } from './filled-note.tsx';
import { imageUses, type ImageUses } from './image-uses.tsx';
import { ImageHistory } from './image-history.tsx';
import { ImageResult } from './image-result.tsx';
import { OrderButton } from './order-button.tsx';
import { overlayFor } from './overlay.ts';
import { PromptField } from './prompt-field.tsx';
import type { Pixels } from './reference-shape.ts';
import { choicesOf, fitted, likeOf, mostReferencesOf, orderOf, quotedOf, type ImageSettings } from './settings.ts';
import { ModelField, SettingsFields } from './settings-fields.tsx';
import { submit } from './submit.ts';
import { useImageSize } from './use-image-size.ts';

/** More columns would be too narrow. */
const FEWEST = 2;
const MOST = 4;
/** Polls, because event streams of several tasks would use up the browser's connections. */
const LOOK_EVERY_MS = 1_000;

interface CompareProps {
  readonly draft: Draft;
  readonly models: readonly Model[];
  readonly onChange: ChangeDraft;
}

/** Sends one prompt to several models or settings, and compares images, time and cost. */
export function Compare({ draft, models, onChange: change }: CompareProps) {
  const [round, setRound] = useState(0);
  const [isClose, close] = useDisclosure(false);
  const [errors, setErrors] = useState<readonly (Error | null)[]>([]);
  const compared = draft.compared ?? [];
  const reference = useImageSize(draft.files[0]);
  const orders = compared.map(({ settings }) => preparedOf(draft, settings, models, reference));
  const quotes = useQueries({
    queries: orders.map(({ order, files }) => quoteQuery(quotedOf(order, files.length > 0))),
  });
  // Read from the cache; the columns do the polling.
  const tasks = useQueries({
    queries: compared.map(({ taskId }) => ({ ...taskQuery(taskId ?? ''), enabled: taskId !== null })),
  });
  const best = bestOf(compared.map(({ taskId }, index) => (taskId === null ? null : tasks[index]?.data)));
  const images = compared.flatMap(({ taskId }, index) => {
    const task = taskId === null ? undefined : tasks[index]?.data;
    return task?.images[0] === undefined ? [] : [{ name: `Column ${index + 1}`, task }];
  });
  const known = quotes.map(({ data }) => data);
  const content = JSON.stringify(orders.map(({ order }) => order));
  // As with a single order: tasks accepted before an error are not ordered again.
  const keys = useMemo(
    () => Array.from({ length: MOST }, newIdempotencyKey),
    [content, draft.files, draft.overlay, round],
  );
  const changeOne = (index: number, changes: Partial<ComparedOrder>) =>
    change({ compared: compared.map((one, other) => (other === index ? { ...one, ...changes } : one)) });
  const make = useMutation({
    mutationFn: () =>
      Promise.allSettled(
        orders.map(({ order, files, overlay }, index) => submit(order, files, overlay, keys[index] ?? '')),
      ),
    onSuccess: (outcomes) => {
      const ids = outcomes.map((outcome) => (outcome.status === 'fulfilled' ? outcome.value.task_id : null));
      change({ compared: compared.map((one, index) => ({ ...one, taskId: ids[index] ?? null })), filled: null });
      setErrors(outcomes.map((outcome) => (outcome.status === 'rejected' ? (outcome.reason as Error) : null)));
      if (!ids.includes(null)) setRound(round + 1);
      void queryClient.invalidateQueries({ queryKey: ['tasks'] });
    },
  });
  const isReading = draft.files.length > 0 && reference === undefined;
  const widest = orders.reduce((most, { choices }) => Math.max(most, choices.mostReferences), 0);
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (!make.isPending && !isReading) make.mutate();
      }}
    >
      <Stack gap="lg">
        <Stack gap="md" maw={760}>
          {orders[0] !== undefined && (
            <PromptField
              draft={draft}
              choices={{
                ...orders[0].choices,
                mostReferences: widest,
                masks: orders.every(({ choices }) => choices.masks),
                markup: orders.every(({ choices }) => choices.markup),
              }}
              onChange={change}
            />
          )}
          <FilledNote draft={draft} onChange={change} />
          <Group align="flex-start">
            <OrderButton
              label={compared.length === 2 ? 'Generate both' : `Generate all ${compared.length}`}
              terms={termsOf(known)}
              quotes={known}
              busy={make.isPending || isReading}
              disabled={draft.prompt.trim() === ''}
            />
            <Button
              variant="default"
              size="md"
              leftSection={<IconPlus size={16} />}
              disabled={compared.length >= MOST}
              onClick={() =>
                change({ compared: [...compared, ...compared.slice(-1).map((one) => ({ ...one, taskId: null }))] })
              }
            >
              Add column
            </Button>
            {images.length > 1 && (
              <Button variant="default" size="md" leftSection={<IconZoomIn size={16} />} onClick={close.open}>
                Compare closely
              </Button>
            )}
          </Group>
        </Stack>
        <SimpleGrid cols={{ base: 1, sm: 2, lg: Math.min(3, compared.length), xl: compared.length }} spacing="lg">
          {orders.map((prepared, index) => (
            <Column
              key={index}
              name={`Column ${index + 1}`}
              models={models}
              prepared={prepared}
              quote={known[index]}
              taskId={compared[index]?.taskId ?? null}
              best={best[index] ?? []}
              error={errors[index] ?? null}
              onSettings={(settings) => changeOne(index, { settings })}
              onAgain={(id) => changeOne(index, { taskId: id })}
              onRemove={
                compared.length > FEWEST
                  ? () => change({ compared: compared.filter((_, other) => other !== index) })
                  : undefined
              }
              uses={imageUses(draft, prepared.settings, prepared.choices, (changes) =>
                change({ ...changes, compared: null }),
              )}
            />
          ))}
        </SimpleGrid>
        <CompareClosely opened={isClose} images={images} onClose={close.close} />
        <ImageHistory current={null} onPick={(taskId) => change({ compared: null, taskId })} />
      </Stack>
    </form>
  );
}

function preparedOf(
  { prompt, files: all, overlay }: Draft,
  chosen: ImageSettings,
  models: readonly Model[],
  reference: Pixels | null | undefined,
) {
  const model = models.find(({ id }) => id === chosen.model) ?? models[0];
  const files = all.slice(0, mostReferencesOf(model));
  const choices = choicesOf(model, files.length > 0, chosen);
  const settings = fitted({ ...chosen, model: model?.id ?? chosen.model }, choices);
  const like = likeOf(settings, model, reference);
  return {
    files,
    choices,
    settings,
    like,
    order: orderOf(prompt, settings, like, choices.extra) satisfies ImageOrder,
    overlay: overlayFor(choices, files, overlay),
  };
}

/** The total price; empty until all prices are known. */
function termsOf(quotes: readonly (Quote | undefined)[]): string {
  const known = quotes.filter((quote) => quote !== undefined);
  if (known.length < quotes.length) return '';
  return priceText(known.map(({ cost }) => cost));
}

interface ColumnProps {
  readonly name: string;
  readonly models: readonly Model[];
  readonly prepared: ReturnType<typeof preparedOf>;
  readonly quote: Quote | undefined;
  readonly taskId: string | null;
  readonly best: readonly Best[];
  readonly error: Error | null;
  readonly onSettings: (settings: ImageSettings) => void;
  /** The order was repeated as another task. */
  readonly onAgain: (id: string) => void;
  readonly onRemove: (() => void) | undefined;
  readonly uses: ImageUses;
}

function Column({ name, models, prepared, quote, taskId, best, error, onSettings, ...actions }: ColumnProps) {
  const { choices, settings, like, order } = prepared;
  const { onAgain, onRemove, uses } = actions;
  const task = useQuery({
    ...taskQuery(taskId ?? ''),
    enabled: taskId !== null,
    refetchInterval: ({ state }) => (state.data?.status === 'pending' ? LOOK_EVERY_MS : false),
  });
  return (
    <Stack gap="md" component="section" aria-label={name}>
      <Box className="surface" p="md">
        <Stack gap="md">
          <Group justify="space-between" wrap="nowrap">
            <Title order={2} fz="sm" fw={600}>
              {name}
            </Title>
            <Group gap="xs" wrap="nowrap">
              <Text size="sm" c="dimmed" className="numbers">
                {quoteText(quote)}
              </Text>
              {onRemove !== undefined && (
                <ActionIcon
                  variant="subtle"
                  color="gray"
                  aria-label={`Remove ${name.toLowerCase()}`}
                  onClick={onRemove}
                >
                  <IconX size={16} />
                </ActionIcon>
              )}
            </Group>
          </Group>
          <ModelField models={models} value={settings.model} onChange={(model) => onSettings({ ...settings, model })} />
          <SettingsFields
            choices={choices}
            settings={settings}
            like={like}
            onChange={(changes) => onSettings({ ...settings, ...changes })}
          />
        </Stack>
      </Box>
      {error !== null ? (
        <Trouble error={error} doing="Could not submit the request" />
      ) : (
        taskId !== null && (
          <ImageResult
            task={task.data}
            error={task.error}
            isOrdered
            partial={null}
            size={order.size}
            uses={uses}
            onAgain={onAgain}
            marks={best}
          />
        )
      )}
    </Stack>
  );
}
