import { Alert, Anchor, Box, SegmentedControl } from '@mantine/core';
import { IconFlask } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { lazy, Suspense } from 'react';
import { modelsQuery, useSession } from '../../api/queries.ts';
import { PageFrame, Rows, Trouble } from '../../parts/page.tsx';
import type { Model } from '../../api/types.ts';
import { useDraft, type ComparedOrder } from './draft.ts';
import { usualModel, type ImageSettings } from './settings.ts';
import { SingleOrder } from './single-order.tsx';

const Compare = lazy(async () => ({ default: (await import('./compare.tsx')).Compare }));

export function PlaygroundPage() {
  const models = useQuery(modelsQuery);
  const [draft, change] = useDraft();
  const list = models.data?.data ?? [];
  const settings = list.some(({ id }) => id === draft.settings.model)
    ? draft.settings
    : { ...draft.settings, model: usualModel(list) };
  const isCompared = draft.compared !== null;
  const chosen = (draft.compared ?? [{ settings }]).map((order) => order.settings.model);
  const pages = { draft: { ...draft, settings }, models: list, onChange: change };
  return (
    <PageFrame
      title="Playground"
      about="Try a prompt here, then use the same request in your app."
      actions={
        <SegmentedControl
          aria-label="Images at a time"
          value={isCompared ? 'compare' : 'single'}
          onChange={(mode) => change({ compared: mode === 'compare' ? pairOf(settings, list) : null })}
          data={[
            { value: 'single', label: 'Single' },
            { value: 'compare', label: 'Compare' },
          ]}
        />
      }
    >
      {models.error !== null && <Trouble error={models.error} doing="Could not load the models" />}
      <SandboxNote models={list} chosen={chosen} />
      {models.isLoading ? (
        <Box className="surface">
          <Rows />
        </Box>
      ) : isCompared ? (
        <Suspense fallback={<Rows />}>
          <Compare {...pages} />
        </Suspense>
      ) : (
        <SingleOrder {...pages} />
      )}
    </PageFrame>
  );
}

/** Without this note, users would judge the model by images of the sandbox. */
function SandboxNote({ models, chosen }: { readonly models: readonly Model[]; readonly chosen: readonly string[] }) {
  const { operator } = useSession();
  const drawn = models.filter(({ id, sandbox }) => sandbox && chosen.includes(id)).map(({ id }) => id);
  if (drawn.length === 0) return null;
  const names = new Intl.ListFormat('en').format(drawn);
  const isAll = models.every(({ sandbox }) => sandbox);
  const reason = isAll ? 'No provider is connected' : `No provider is connected for ${names}`;
  return (
    <Alert color="safelight" variant="light" py="xs" icon={<IconFlask size={18} />}>
      <b>Sandbox.</b> {reason}, so these images are drawn by Darkroom itself. They show how requests work, not what a
      model can do.{' '}
      {operator ? (
        <Anchor component={Link} to="/catalog" inherit underline="always">
          Add one under Providers and models.
        </Anchor>
      ) : (
        'Ask an operator of this installation to add one.'
      )}
    </Alert>
  );
}

/** The same order twice, with another model if there is one. */
function pairOf(settings: ImageSettings, models: readonly Model[]): ComparedOrder[] {
  const other = models.find(({ id }) => id !== settings.model)?.id ?? settings.model;
  return [settings, { ...settings, model: other }].map((one) => ({ settings: one, taskId: null }));
}
