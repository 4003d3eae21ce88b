import {
  Anchor,
  Box,
  Button,
  Collapse,
  Grid,
  Group,
  Select,
  Stack,
  Text,
  Textarea,
  UnstyledButton,
} from '@mantine/core';
import { useDisclosure, useHotkeys } from '@mantine/hooks';
import { useMutation, useQuery } from '@tanstack/react-query';
import { lazy, Suspense, useMemo, useRef, useState } from 'react';
import { useFollowTask } from '../../api/follow-task.ts';
import { modelsQuery, queryClient, taskQuery } from '../../api/queries.ts';
import { send } from '../../api/request.ts';
import type { AcceptedTask, ImageOrder, Model } from '../../api/types.ts';
import { CodeTabs } from '../../parts/copy.tsx';
import { PageFrame, Trouble } from '../../parts/page.tsx';
import { ReferenceImages } from '../../parts/reference-images.tsx';
import { singleClick } from '../../parts/single-click.ts';
import { ShapePicker, TierPicker } from '../../parts/shape-picker.tsx';
import { distinctNames, MASK_FILE, snippetsOf } from '../../parts/snippets.ts';
import { ImageHistory } from './image-history.tsx';
import { ImageResult } from './image-result.tsx';

const MaskPainter = lazy(async () => ({ default: (await import('./mask-painter.tsx')).MaskPainter }));

const SIZES = '1:1 3:2 2:3 4:3 3:4 5:4 4:5 16:9 9:16 2:1 1:2 21:9 9:21 auto'.split(' ');
const TIERS = ['1k', '2k', '4k'];
const QUALITIES = ['auto', 'low', 'medium', 'high'];
const PARTIAL_IMAGES = 3;
const START: ImageOrder = { model: 'gpt-image-2', prompt: '', size: '1:1', resolution: '1k', quality: 'auto' };

export function PlaygroundPage() {
  const models = useQuery(modelsQuery);
  const [request, setRequest] = useState(START);
  const [files, setFiles] = useState<readonly File[]>([]);
  const [mask, setMask] = useState<Blob | null>(null);
  const [painting, painter] = useDisclosure(false);
  const [withCode, code] = useDisclosure(false);
  const [taskId, setTaskId] = useState<string | null>(null);
  const result = useRef<HTMLDivElement>(null);
  const [accepted, setAccepted] = useState(0);
  const list = models.data?.data ?? [];
  const model = list.find(({ id }) => id === request.model) ?? list[0];
  const { sizes = SIZES, resolutions = TIERS } = model?.capabilities ?? {};
  const qualities = qualitiesOf(model, files.length > 0, request.quality);
  const mostN = model?.limits.n ?? 1;
  const current = {
    ...request,
    model: model?.id ?? request.model,
    size: ifListed(sizes, request.size),
    quality: ifListed(qualities, request.quality),
    n: Math.min(request.n ?? 1, mostN),
  };
  const content = JSON.stringify(current);
  // A request whose answer was lost keeps its key, so that sending it again makes no second task.
  const idempotencyKey = useMemo(newIdempotencyKey, [content, files, mask, accepted]);
  const make = useMutation({
    mutationFn: () => submit(current, files, mask, idempotencyKey),
    onSuccess: ({ task_id: id }) => {
      setAccepted(accepted + 1);
      setTaskId(id);
      // On a phone it is below the form.
      result.current?.scrollIntoView({ block: 'nearest' });
      void queryClient.invalidateQueries({ queryKey: ['tasks'] });
    },
  });
  const task = useQuery({ ...taskQuery(taskId ?? ''), enabled: taskId !== null });
  const running = taskId !== null && (task.data === undefined || task.data.status === 'pending');
  const partial = useFollowTask(taskId, running);
  const submitting = make.isPending || (taskId !== null && task.isLoading);
  const change = (changes: Partial<ImageOrder>) => setRequest({ ...request, ...changes });
  const start = () => {
    if (current.prompt.trim() !== '' && !submitting) make.mutate();
  };
  useHotkeys([['mod+Enter', ({ repeat }) => !repeat && start()]], []);
  const mostImages = model?.capabilities.edits === false ? 0 : (model?.limits.images ?? 16);
  return (
    <PageFrame title="Playground" about="Try a prompt here, then use the same request in your program.">
      <Grid gap="xl">
        <Grid.Col span={{ base: 12, md: 5 }}>
          <form
            onSubmit={(event) => {
              event.preventDefault();
              start();
            }}
          >
            <Stack gap="md">
              <Textarea
                label="Prompt"
                placeholder="A lighthouse in the fog, film photograph"
                autosize
                minRows={4}
                maxRows={12}
                required
                maxLength={32_000}
                value={request.prompt}
                onChange={(event) => change({ prompt: event.currentTarget.value })}
              />
              {mostImages > 0 && (
                <ReferenceImages
                  files={files}
                  most={mostImages}
                  masked={mask !== null}
                  onPaint={model?.capabilities.masks === false ? undefined : painter.open}
                  onChange={(next) => {
                    if (next[0] !== files[0]) setMask(null);
                    setFiles(next);
                  }}
                />
              )}
              <ShapePicker sizes={sizes} value={current.size} onChange={(size) => change({ size })} />
              <Group grow align="flex-end">
                <TierPicker
                  tiers={resolutions}
                  value={request.resolution}
                  onChange={(resolution) => change({ resolution })}
                />
                <Select
                  label="Quality"
                  allowDeselect={false}
                  data={qualities}
                  value={current.quality}
                  onChange={(quality) => {
                    if (quality !== null) change({ quality });
                  }}
                />
              </Group>
              {(list.length > 1 || mostN > 1) && (
                <Group grow>
                  {list.length > 1 && (
                    <Select
                      label="Model"
                      allowDeselect={false}
                      data={list.map(({ id }) => id)}
                      value={current.model}
                      onChange={(id) => {
                        if (id !== null) change({ model: id });
                      }}
                    />
                  )}
                  {mostN > 1 && (
                    <Select
                      label="Images"
                      allowDeselect={false}
                      data={Array.from({ length: mostN }, (_, index) => String(index + 1))}
                      value={String(current.n)}
                      onChange={(n) => change({ n: Number(n) })}
                    />
                  )}
                </Group>
              )}
              {make.error !== null && <Trouble error={make.error} doing="Could not submit the request" />}
              <Button
                type="submit"
                size="md"
                loading={submitting}
                disabled={request.prompt.trim() === ''}
                {...singleClick}
              >
                {files.length > 0 ? 'Edit image' : 'Generate'}
              </Button>
              <Box>
                <UnstyledButton className="fold" onClick={code.toggle} aria-expanded={withCode} aria-controls="as-code">
                  {withCode ? 'Hide code' : 'Show code'}
                </UnstyledButton>
                <Collapse expanded={withCode} id="as-code" mt="xs">
                  <CodeTabs
                    codes={snippetsOf({
                      ...current,
                      prompt: current.prompt === '' ? 'Your prompt' : current.prompt,
                      files: distinctNames(files.map(({ name }) => name)),
                      ...(mask === null ? {} : { mask: MASK_FILE }),
                    })}
                  />
                  {mask !== null && <SaveMask mask={mask} />}
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
              size={current.size}
              onReuse={({ prompt, model: used, size, resolution, options }) => {
                const { quality, n } = options;
                change({
                  ...{ prompt, model: used, size, n: typeof n === 'number' ? n : 1 },
                  ...(resolution === null ? {} : { resolution }),
                  ...(typeof quality === 'string' ? { quality } : {}),
                });
              }}
            />
            <ImageHistory current={taskId} onPick={setTaskId} />
          </Stack>
        </Grid.Col>
      </Grid>
      {painting && files[0] !== undefined && (
        <Suspense>
          <MaskPainter file={files[0]} onDone={setMask} onClose={painter.close} />
        </Suspense>
      )}
    </PageFrame>
  );
}

/** What older models call their qualities, and what newer ones call the same. */
const NEWER_NAMES: Readonly<Record<string, string>> = { standard: 'medium', hd: 'high' };

/** The qualities to choose from, `auto` first; of two names for one, the newer, unless the older is chosen. */
function qualitiesOf(model: Model | undefined, isEdit: boolean, chosen: string): readonly string[] {
  const { qualities, edit_qualities: forEdits } = model?.capabilities ?? {};
  const all = (isEdit ? forEdits : qualities) ?? QUALITIES;
  const listed = all.filter((quality) => quality === chosen || !all.includes(NEWER_NAMES[quality] ?? ''));
  return listed.includes('auto') ? ['auto', ...listed.filter((quality) => quality !== 'auto')] : listed;
}

/** The choice, or the first there is if another model was meant. */
function ifListed(values: readonly string[], choice: string): string {
  return values.includes(choice) ? choice : (values[0] ?? choice);
}

/** The code names the mask as a file. */
function SaveMask({ mask }: { readonly mask: Blob }) {
  const url = useMemo(() => URL.createObjectURL(mask), [mask]);
  return (
    <Text size="sm" c="dimmed" mt="xs">
      The code reads the mask from a file:{' '}
      <Anchor href={url} download={MASK_FILE} size="sm" underline="always">
        save it as {MASK_FILE}
      </Anchor>
    </Text>
  );
}

/** 128 random bits; `crypto.randomUUID` is missing where the console is served without TLS. */
function newIdempotencyKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');
}

async function submit(request: ImageOrder, files: readonly File[], mask: Blob | null, idempotencyKey: string) {
  if (files.length === 0) {
    const body = { ...request, partial_images: PARTIAL_IMAGES };
    return await send<AcceptedTask>('POST', '/images', body, idempotencyKey);
  }
  const form = new FormData();
  for (const [name, value] of Object.entries(request)) form.append(name, String(value));
  form.append('stream', 'true');
  form.append('partial_images', String(PARTIAL_IMAGES));
  for (const file of files) form.append('image[]', file, file.name);
  if (mask !== null) form.append('mask', mask, 'mask.png');
  return await send<AcceptedTask>('POST', '/edits', form, idempotencyKey);
}
