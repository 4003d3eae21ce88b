import { Alert, Box } from '@mantine/core';
import { IconFlask } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { modelsQuery, useSession } from '../../api/queries.ts';
import { PageFrame, Rows, Trouble } from '../../parts/page.tsx';
import type { Model } from '../../api/types.ts';
import { useDraft } from './draft.ts';
import { SingleOrder } from './single-order.tsx';

export function PlaygroundPage() {
  const models = useQuery(modelsQuery);
  const [draft, change] = useDraft();
  const list = models.data?.data ?? [];
  const settings = list.some(({ id }) => id === draft.settings.model)
    ? draft.settings
    : { ...draft.settings, model: list[0]?.id ?? draft.settings.model };
  return (
    <PageFrame title="Playground" about="Try a prompt here, then use the same request in your program.">
      {models.error !== null && <Trouble error={models.error} doing="Could not load the models" />}
      <SandboxNote models={list} />
      {models.isLoading ? (
        <Box className="surface">
          <Rows />
        </Box>
      ) : (
        <SingleOrder draft={{ ...draft, settings }} models={list} onChange={change} />
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
