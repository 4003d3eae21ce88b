import { Box, Button, Group, Stack, Text, ThemeIcon, Title } from '@mantine/core';
import { useLocalStorage } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { IconCheck } from '@tabler/icons-react';
import { lazy, Suspense, useEffect, useState, type ReactNode } from 'react';
import { keysQuery, modelsQuery, useSession } from '../../api/queries.ts';
import type { NewKey } from '../../api/types.ts';
import { CodeTabs } from '../../parts/copy.tsx';
import { fromNow } from '../../parts/format.ts';
import { EXAMPLE, snippetsOf } from '../../parts/snippets.ts';
import { lastUse } from './last-use.ts';

const KeyForm = lazy(async () => ({ default: (await import('../keys/key-form.tsx')).KeyForm }));
const KeySecret = lazy(async () => ({ default: (await import('../keys/key-secret.tsx')).KeySecret }));

/** How often the page checks for the first call. */
const WATCH_MS = 2_000;

/** Setup steps up to the first call, shown until the user hides them. */
export function FirstSteps() {
  const { operator, account, image_providers: providers } = useSession();
  // Null: this browser has never shown them unfinished.
  const [hidden, setHidden] = useLocalStorage<boolean | null>({
    key: `darkroom.first-steps-hidden.${account.id}`,
    defaultValue: null,
    getInitialValueInEffect: false,
  });
  const [newKey, setNewKey] = useState<NewKey | null>(null);
  const [dialog, setDialog] = useState<'create' | 'secret' | null>(null);
  const { data } = useQuery({
    ...keysQuery,
    refetchInterval: ({ state }) => (lastUse((state.data?.data ?? []).filter(isFirst)) === null ? WATCH_MS : false),
  });
  const keys = (data?.data ?? []).filter(isFirst);
  const usedAt = lastUse(keys);
  const connected = providers.length > 0;
  const isDone = usedAt !== null && (connected || !operator);
  // Steps that were finished before the first visit are not shown; steps finished since then stay visible.
  const isBegun = data !== undefined && !isDone;
  useEffect(() => {
    if (isBegun) setHidden((before) => before ?? false);
  }, [isBegun, setHidden]);
  if (data === undefined || hidden === true || (hidden === null && isDone)) return null;
  return (
    <Box className="surface" p="lg" component="section" aria-label="First steps">
      <Group justify="space-between" mb="md">
        <Title order={2} fz="md">
          {isDone ? 'You’re set up' : 'First steps'}
        </Title>
        <Button variant="subtle" color="gray" size="compact-sm" onClick={() => setHidden(true)}>
          Hide
        </Button>
      </Group>
      <Stack gap="lg" component="ol" m={0} p={0} style={{ listStyle: 'none' }}>
        {operator && (
          <Step number={1} title="Connect a provider" done={connected}>
            {connected ? (
              <Text size="sm">Images come from {providers.join(', ')}.</Text>
            ) : (
              <>
                <Text size="sm">
                  Until then, the sandbox answers with free sample images, so you can set up everything else first.
                </Text>
                <Button component={Link} to="/catalog" variant="default" size="xs">
                  Open Providers and models
                </Button>
              </>
            )}
          </Step>
        )}
        <Step number={operator ? 2 : 1} title="Create a key" done={keys.length > 0}>
          <Text size="sm">
            {keys.length === 0 && 'Your app sends it with every request.'}
            {keys.length > 0 && (keys.every(isFromSetup) ? FROM_SETUP : keyNames(keys.map(({ name }) => name)))}
          </Text>
          {keys.length === 0 && (
            <Button size="xs" onClick={() => setDialog('create')}>
              Create key
            </Button>
          )}
        </Step>
        <Step number={operator ? 3 : 2} title="Make the first call" done={usedAt !== null}>
          {usedAt === null ? <Call newKey={newKey} /> : <Text size="sm">A key was used {fromNow(usedAt)}.</Text>}
        </Step>
      </Stack>
      <Suspense>
        {dialog === 'create' && (
          <KeyForm
            onClose={() => setDialog(null)}
            onCreated={(key) => {
              setNewKey(key);
              setDialog('secret');
            }}
          />
        )}
        {dialog === 'secret' && newKey !== null && <KeySecret newKey={newKey} onClose={() => setDialog(null)} />}
      </Suspense>
    </Box>
  );
}

/** The request as code, with the secret of the key just created on this page. */
function Call({ newKey }: { readonly newKey: NewKey | null }) {
  const models = useQuery(modelsQuery);
  const model = newKey?.key.models[0] ?? models.data?.data[0]?.id ?? EXAMPLE.model;
  const request = { ...EXAMPLE, model, answeredByTask: newKey?.key.submit_mode === 'apimart' };
  return (
    <>
      <Text size="sm" role="status">
        {newKey === null ? 'Run this with your key.' : 'Run this; your new key is filled in.'} This step turns green
        when the call arrives.
      </Text>
      <Box w="100%">
        <CodeTabs codes={snippetsOf(request, newKey?.secret)} />
      </Box>
    </>
  );
}

interface StepProps {
  readonly number: number;
  readonly title: string;
  readonly done: boolean;
  readonly children: ReactNode;
}

function Step({ number, title, done, children }: StepProps) {
  return (
    <Group component="li" align="flex-start" wrap="nowrap" gap="md">
      <ThemeIcon radius="xl" size={28} variant={done ? 'filled' : 'default'} color="green.8">
        {done ? <IconCheck size={16} aria-hidden /> : number}
      </ThemeIcon>
      <Stack gap={6} align="flex-start" flex={1} miw={0}>
        <Title order={3} fz="sm" pt={4}>
          {title}
          {done && (
            <Text span size="sm" c="dimmed" fw={400}>
              {' '}
              · done
            </Text>
          )}
        </Title>
        {children}
      </Stack>
    </Group>
  );
}

type Key = NewKey['key'];

/** Keys created by commands are for programs that already run. */
const isFirst = ({ created_by: creator, made_by: maker }: Key): boolean => creator !== null || maker === 'setup';

const isFromSetup = ({ made_by: maker }: Key): boolean => maker === 'setup';
const FROM_SETUP =
  'Darkroom created one at setup: npm start prints it. Create one for each of your apps on the Keys page.';

function keyNames(names: readonly string[]): string {
  return names.length > 3 ? `${names.length} keys.` : `${names.join(', ')}.`;
}
