import { Box, Button, Group, List, Stack, Text } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { askedIn, authorizationQuery, authorize, type AuthorizationAsked } from '../../api/authorizations.ts';
import { useSession } from '../../api/queries.ts';
import type { Schema } from '../../api/generated/schema.ts';
import { BusyButton } from '../../parts/busy.tsx';
import { PageFrame, Rows, Trouble } from '../../parts/page.tsx';

const route = getRouteApi('/inside/authorize');

/** An MCP client has sent its user here, and gets a key of theirs if they agree. */
export function AuthorizePage() {
  // The router leaves parameters in the address that the route does not know.
  const asked = askedIn(route.useSearch());
  const { data, error, isPending } = useQuery(authorizationQuery(asked));
  return (
    <PageFrame title="Authorize a client">
      {error !== null && <Trouble error={error} doing="Could not read the client’s request" />}
      {isPending && <Rows count={3} />}
      {data !== undefined && <Question asked={asked} request={data} />}
    </PageFrame>
  );
}

interface QuestionProps {
  readonly asked: AuthorizationAsked;
  readonly request: Schema['AuthorizationRequestView'];
}

function Question({ asked, request }: QuestionProps) {
  const { person, account } = useSession();
  const agree = useMutation({
    mutationFn: () => authorize(asked),
    onSuccess: ({ redirect_url: url }) => location.assign(url),
  });
  // The browser is on its way to the client then.
  const isBusy = agree.isPending || agree.isSuccess;
  return (
    <Box className="surface" p="lg" maw={640}>
      <Stack gap="md">
        <Text>
          <strong>{request.client}</strong> asks for access to Darkroom as {person.name}, in the account {account.name}.
          Nobody has checked the name of the client: continue only if you have just connected it yourself.
        </Text>
        <List size="sm" spacing={6}>
          <List.Item>It generates and edits images at your account’s expense.</List.Item>
          <List.Item>It sees and cancels the images that it ordered{sharing(request)}.</List.Item>
          <List.Item>
            It is listed with your keys, where you can limit it by models, see what it spends, and revoke it.
          </List.Item>
        </List>
        <Text size="sm">
          You are sent to <strong>{request.returns_to}</strong> afterwards.
        </Text>
        {agree.error !== null && <Trouble error={agree.error} doing="Could not authorize the client" />}
        <Group>
          <BusyButton busy={isBusy} onClick={() => agree.mutate()}>
            Authorize
          </BusyButton>
          <Button variant="default" disabled={isBusy} onClick={() => location.assign(request.refuse_url)}>
            Cancel
          </Button>
        </Group>
      </Stack>
    </Box>
  );
}

function sharing({ shares_limits_of: key }: QuestionProps['request']): string {
  return key === null ? '' : `, and those of your key ${key}, with which it shares its limits and budget`;
}
