import { Anchor, Box, Collapse, Grid, Stack, Text, UnstyledButton } from '@mantine/core';
import { useDisclosure, useHotkeys } from '@mantine/hooks';
import { keepPreviousData, useMutation, useQuery } from '@tanstack/react-query';
import { useMemo, useRef, useState } from 'react';
import { useFollowTask } from '../../api/follow-task.ts';
import { queryClient, taskQuery } from '../../api/queries.ts';
import { quoteQuery } from '../../api/quotes.ts';
import { newIdempotencyKey } from '../../api/request.ts';
import type { Model } from '../../api/types.ts';
import { CodeTabs } from '../../parts/copy.tsx';
import { isDialogOpen } from '../../parts/dialog.tsx';
import { Trouble } from '../../parts/page.tsx';
import { quoteText } from '../../parts/quote.ts';
import { distinctNames, overlayFile, snippetsOf } from '../../parts/snippets.ts';
import { turnsWith, type ChangeDraft, type Draft } from './draft.ts';
import { FilledNote } from './filled-note.tsx';
import { ImageHistory } from './image-history.tsx';
import { imageUses } from './image-uses.tsx';
import { ImageResult } from './image-result.tsx';
import { OrderButton } from './order-button.tsx';
import { overlayFor, type Overlay } from './overlay.ts';
import { PromptField } from './prompt-field.tsx';
import { choicesOf, fitted, likeOf, mostReferencesOf, orderOf, quotedOf, type ImageSettings } from './settings.ts';
import { ModelField, SettingsFields } from './settings-fields.tsx';
import { submit } from './submit.ts';
import { Thread } from './thread.tsx';
import { useImageSize } from './use-image-size.ts';

const LOOK_EVERY_MS = 3_000;

interface SingleOrderProps {
  readonly draft: Draft;
  readonly models: readonly Model[];
  readonly onChange: ChangeDraft;
}

/** One order at a time: the form on the left, the result on the right. */
export function SingleOrder({ draft, models, onChange: change }: SingleOrderProps) {
  const { prompt, taskId } = draft;
  const [withCode, code] = useDisclosure(false);
  const result = useRef<HTMLDivElement>(null);
  const [accepted, setAccepted] = useState(0);
  const model = models.find(({ id }) => id === draft.settings.model);
  const most = mostReferencesOf(model);
  const files = useMemo(() => draft.files.slice(0, most), [draft.files, most]);
  const isEdit = files.length > 0;
  const choices = choicesOf(model, isEdit, draft.settings);
  const overlay = overlayFor(choices, files, draft.overlay);
  const settings = fitted(draft.settings, choices);
  const reference = useImageSize(files[0]);
  const like = likeOf(settings, model, reference);
  const order = orderOf(prompt, settings, like, choices.extra);
  const content = JSON.stringify(order);
  // If a response is lost, the key stays the same, so sending again creates no second task.
  const idempotencyKey = useMemo(newIdempotencyKey, [content, files, overlay, accepted]);
  const { data: quote, isPlaceholderData: isOutdated } = useQuery({
    ...quoteQuery(quotedOf(order, isEdit)),
    placeholderData: keepPreviousData,
  });
  const make = useMutation({
    mutationFn: () => submit(order, files, overlay, idempotencyKey),
    onSuccess: ({ task_id: id }) => {
      setAccepted(accepted + 1);
      change({ taskId: id, filled: null, turns: turnsWith(id, draft) });
      // On a phone, the result is below the form.
      result.current?.scrollIntoView({ block: 'nearest' });
      void queryClient.invalidateQueries({ queryKey: ['tasks'] });
    },
  });
  const task = useQuery({
    ...taskQuery(taskId ?? ''),
    enabled: taskId !== null,
    // Events don't include the place in the queue.
    refetchInterval: ({ state }) => (state.data?.phase === 'queued' ? LOOK_EVERY_MS : false),
  });
  const running = taskId !== null && (task.data === undefined || task.data.status === 'pending');
  const partial = useFollowTask(taskId, running && task.error === null);
  const submitting = make.isPending || (taskId !== null && task.isLoading);
  // The order needs the shape of the reference.
  const isReading = isEdit && reference === undefined;
  const start = () => {
    if (prompt.trim() !== '' && !submitting && !isReading) make.mutate();
  };
  // In a dialog, such as that of the mask, nothing is ordered.
  useHotkeys([['mod+Enter', ({ repeat }) => !repeat && !isDialogOpen() && start()]], []);
  // The note is about the settings that were filled in.
  const changeSettings = (changes: Partial<ImageSettings>) =>
    change({ settings: { ...settings, ...changes }, filled: null });
  return (
    <Grid gap="xl">
      <Grid.Col span={{ base: 12, md: 5 }}>
        <form
          onSubmit={(event) => {
            event.preventDefault();
            start();
          }}
        >
          <Stack gap="md">
            <ModelField models={models} value={settings.model} onChange={(id) => changeSettings({ model: id })} />
            <PromptField draft={draft} choices={choices} onChange={change} />
            <FilledNote draft={draft} onChange={change} />
            <SettingsFields
              choices={choices}
              settings={settings}
              like={isReading ? undefined : like}
              onChange={changeSettings}
            />
            {make.error !== null && <Trouble error={make.error} doing="Could not submit the request" />}
            <div className="order-bar">
              <OrderButton
                label={labelOf(files, draft.varied, settings.n)}
                terms={quoteText(quote)}
                outdated={isOutdated}
                quotes={isOutdated ? [] : [quote]}
                busy={submitting || isReading}
                disabled={prompt.trim() === ''}
              />
            </div>
            <Box>
              <UnstyledButton className="fold" onClick={code.toggle} aria-expanded={withCode} aria-controls="as-code">
                {withCode ? 'Hide code' : 'Show code'}
              </UnstyledButton>
              <Collapse expanded={withCode} id="as-code" mt="xs">
                <CodeTabs
                  codes={snippetsOf({
                    ...order,
                    prompt: prompt === '' ? 'Your prompt' : prompt,
                    options: optionsOf(order),
                    files: distinctNames(files.map(({ name }) => name)),
                    ...(overlay === null ? {} : { overlay: overlay.kind }),
                  })}
                />
                {overlay !== null && <SaveOverlay overlay={overlay} />}
              </Collapse>
            </Box>
          </Stack>
        </form>
      </Grid.Col>
      <Grid.Col span={{ base: 12, md: 7 }}>
        <Stack gap="lg" ref={result}>
          <ImageResult
            task={task.data}
            error={task.error}
            isOrdered={taskId !== null}
            partial={partial}
            size={order.size}
            uses={imageUses(draft, settings, choices, change)}
            onAgain={(id) => change({ taskId: id })}
          />
          <Thread turns={draft.turns} current={taskId} onPick={(id) => change({ taskId: id })} />
          <ImageHistory current={taskId} onPick={(id) => change({ taskId: id })} />
        </Stack>
      </Grid.Col>
    </Grid>
  );
}

function labelOf(files: readonly File[], varied: File | null, n: number): string {
  if (files.length === 0) return 'Generate';
  if (files.length > 1 || files[0] !== varied) return 'Edit image';
  return n === 1 ? 'Generate variation' : 'Generate variations';
}

/** Options for the code sample, without those that have their default value. */
function optionsOf(order: ReturnType<typeof orderOf>): Record<string, string | number> {
  const { output_format: format, background, complexity, frame_count: frames, frame_duration_ms: frameMs } = order;
  return {
    ...(format === 'png' ? {} : { output_format: format }),
    ...(background === undefined ? {} : { background }),
    ...(complexity === undefined ? {} : { complexity }),
    ...(frames === undefined ? {} : { frame_count: frames }),
    ...(frameMs === undefined ? {} : { frame_duration_ms: frameMs }),
  };
}

/** The code sample reads what was painted from a file. */
function SaveOverlay({ overlay: { kind, image } }: { readonly overlay: Overlay }) {
  const url = useMemo(() => URL.createObjectURL(image), [image]);
  return (
    <Text size="sm" c="dimmed" mt="xs">
      The code reads the {kind} from a file:{' '}
      <Anchor href={url} download={overlayFile(kind)} size="sm" underline="always">
        save it as {overlayFile(kind)}
      </Anchor>
    </Text>
  );
}
