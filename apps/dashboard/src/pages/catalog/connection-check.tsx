import { Alert, Box, Group, Text } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { IconPlugConnected } from '@tabler/icons-react';
import type { Connection } from '../../api/catalog.ts';
import { send } from '../../api/request.ts';
import { BusyButton } from '../../parts/busy.tsx';
import { Trouble } from '../../parts/page.tsx';
import type { ProviderChange } from './provider-fields.ts';

/** Maximum number of models listed by name in the result. */
const NAMED = 6;

interface ConnectionCheckProps {
  /** The stored provider whose keys are kept, if there is one. */
  readonly name?: string | undefined;
  /** The form's current values. Throws OptionError. */
  readonly change: () => ProviderChange;
  /** Changes with every input; a result for other input is no longer shown. */
  readonly entered: string;
  /** Receives the error of a field. */
  readonly onError: (error: Error) => void;
  /** Whether a field already shows the error. */
  readonly isToldAtField: (error: Error) => boolean;
}

/** Tests the address and keys in the form, before they are saved or used by a model. */
export function ConnectionCheck({ name, change, entered, onError, isToldAtField }: ConnectionCheckProps) {
  const check = useMutation({
    mutationFn: async (_entered: string) => send<Connection>('POST', '/catalog/connection', { name, ...change() }),
    onError,
  });
  const isCurrent = check.variables === entered;
  return (
    <div>
      <Group gap="sm">
        <BusyButton
          variant="default"
          size="xs"
          leftSection={<IconPlugConnected size={14} />}
          busy={check.isPending}
          onClick={() => check.mutate(entered)}
        >
          Check connection
        </BusyButton>
        <Text size="xs" c="dimmed" flex={1} miw={180}>
          Free: asks the server for its list of models and generates nothing.
        </Text>
      </Group>
      <div role="status">{isCurrent && check.data !== undefined && <Outcome {...check.data} />}</div>
      {isCurrent && check.error !== null && !isToldAtField(check.error) && (
        <Box mt="sm">
          <Trouble error={check.error} doing="Could not check the connection" />
        </Box>
      )}
    </div>
  );
}

function Outcome({ models, problem }: Connection) {
  if (problem !== null)
    return (
      <Alert color="red" variant="light" py="xs" mt="sm" role="group">
        {problem}
      </Alert>
    );
  const more = models.length > NAMED ? `, and ${models.length - NAMED} more` : '';
  return (
    <Alert color="green" variant="light" py="xs" mt="sm" role="group">
      Connected: the server lists {models.length} {models.length === 1 ? 'model' : 'models'}
      {models.length === 0 ? '.' : `: ${models.slice(0, NAMED).join(', ')}${more}.`}
    </Alert>
  );
}
