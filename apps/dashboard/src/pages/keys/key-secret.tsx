import { Button, Group, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { modelsQuery } from '../../api/queries.ts';
import { PUBLIC_PATH } from '../../api/place.ts';
import type { ApiKey, NewKey } from '../../api/types.ts';
import { CodeTabs, ShownOnce } from '../../parts/copy.tsx';
import { ClientSetup } from './client-setup.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { EXAMPLE, snippetsOf, type SnippetRequest } from '../../parts/snippets.ts';

/** The secret is shown only once, so a click outside does not close this dialog. */
export function KeySecret({ newKey, onClose }: { readonly newKey: NewKey; readonly onClose: () => void }) {
  const models = useQuery(modelsQuery);
  const request = requestFor(newKey.key, models.data?.data[0]?.id);
  return (
    <Dialog
      opened
      onClose={onClose}
      title="Your new key"
      size="lg"
      withCloseButton={false}
      closeOnClickOutside={false}
      closeOnEscape={false}
    >
      <Stack>
        <Text size="sm">
          This is the secret key for <b>{newKey.key.name}</b>. Copy it now: Darkroom stores only a hash and can’t show
          it again.
        </Text>
        <ShownOnce text={newKey.secret} testId="secret" />
        {isForImages(newKey.key) && (
          <>
            <Text size="sm" fw={600} mt="xs">
              Try it
            </Text>
            <CodeTabs codes={snippetsOf(request, newKey.secret)} />
            {newKey.key.submit_mode === 'sync' && <ClientSetup secret={newKey.secret} model={request.model} />}
          </>
        )}
        <Group justify="space-between">
          <Button variant="subtle" px={0} bg="transparent" onClick={() => openReference(newKey.secret)}>
            Try it in the API reference
          </Button>
          <Button variant="default" onClick={onClose}>
            I’ve saved it
          </Button>
        </Group>
      </Stack>
    </Dialog>
  );
}

/** Opens the API reference and passes it the secret by message, so that it is in no URL and no storage. */
function openReference(secret: string): void {
  const opened = window.open(`${PUBLIC_PATH}/docs`);
  if (opened === null) return;
  const answer = ({ origin, source, data }: MessageEvent) => {
    if (origin !== location.origin || source !== opened || data !== 'darkroom-docs-ready') return;
    opened.postMessage({ key: secret }, location.origin);
    removeEventListener('message', answer);
  };
  addEventListener('message', answer);
}

const isForImages = ({ scopes }: ApiKey): boolean => scopes.length === 0 || scopes.includes('images');

/** An example request that this key may make and whose response the example can read. */
function requestFor(key: ApiKey, first = EXAMPLE.model): SnippetRequest {
  return {
    ...EXAMPLE,
    model: key.models[0] ?? first,
    answeredByTask: key.submit_mode === 'apimart',
  };
}
