import { Alert, Box, SegmentedControl } from '@mantine/core';
import { IconFlask } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { lazy, Suspense } from 'react';
import { modelsQuery, useSession } from '../../api/queries.ts';
import { PageFrame, Rows, Trouble } from '../../parts/page.tsx';
import type { Model } from '../../api/types.ts';
import { useDraft, type ComparedOrder } from './draft.ts';
import type { ImageSettings } from './settings.ts';
import { SingleOrder } from './single-order.tsx';

const Compare = lazy(async () => ({ default: (await import('./compare.tsx')).Compare }));

export function PlaygroundPage() {
  const models = useQuery(modelsQuery);
  const [draft, change] = useDraft();
  const list = models.data?.data ?? [];
  const settings = list.some(({ id }) => id === draft.settings.model)
    ? draft.settings
    : { ...draft.settings, model: list[0]?.id ?? draft.settings.model };
  const isCompared = draft.compared !== null;
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
      <SandboxNote models={list} />
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

/** Who would take such images for a model's would judge the model by them. */
function SandboxNote({ models }: { readonly models: readonly Model[] }) {
  const { operator } = useSession();
  const drawn = models.filter(({ sandbox }) => sandbox).map(({ id }) => id);
  if (drawn.length === 0) return null;
  const names = new Intl.ListFormat('en').format(drawn);
  return (
    <Alert color="safelight" variant="light" py="xs" icon={<IconFlask size={18} />}>
      <b>Sandbox.</b>{' '}
      {drawn.length === models.length ? 'No provider is connected' : `${names}: no provider is connected`}, so these
      images are drawn by Darkroom itself. They show how requests work, not what a model can do.
      {operator && ' Connect a provider to get real ones.'}
    </Alert>
  );
}

/** The same order twice, with another model if there is one. */
function pairOf(settings: ImageSettings, models: readonly Model[]): ComparedOrder[] {
  const other = models.find(({ id }) => id !== settings.model)?.id ?? settings.model;
  return [settings, { ...settings, model: other }].map((one) => ({ settings: one, taskId: null }));
}
