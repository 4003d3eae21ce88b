import { Button, Group, Modal, Radio, Stack, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useMutation } from '@tanstack/react-query';
import { queryClient } from '../../api/queries.ts';
import { send } from '../../api/request.ts';
import { invitationsQuery } from '../../api/team-queries.ts';
import type { OneTimeLink } from '../../api/team-types.ts';
import type { Role } from '../../api/types.ts';
import { Trouble } from '../../parts/page.tsx';

interface InviteFormProps {
  readonly onClose: () => void;
  readonly onMade: (email: string, made: OneTimeLink) => void;
}

export function InviteForm({ onClose, onMade }: InviteFormProps) {
  const form = useForm<{ email: string; role: Role }>({ initialValues: { email: '', role: 'member' } });
  const invite = useMutation({
    mutationFn: ({ email, role }: typeof form.values) =>
      send<OneTimeLink>('POST', '/people', { email: email.trim(), role }),
    onSuccess: async (made, { email }) => {
      await queryClient.invalidateQueries(invitationsQuery);
      onMade(email.trim(), made);
    },
  });
  return (
    <Modal opened onClose={onClose} title="Invite somebody">
      <form
        onSubmit={form.onSubmit((values) => {
          invite.mutate(values);
        })}
      >
        <Stack>
          {invite.error !== null && <Trouble error={invite.error} doing="Nobody was invited" />}
          <TextInput
            label="E-mail"
            description="They sign in with it. Darkroom sends no mail: you get a link to pass on"
            type="email"
            required
            data-autofocus
            {...form.getInputProps('email')}
          />
          <Radio.Group label="Role" {...form.getInputProps('role')}>
            <Stack gap="xs" mt={6}>
              <Radio value="member" label="Member" description="Draws, manages keys, sees tasks and usage" />
              <Radio value="admin" label="Admin" description="Manages people and webhooks besides" />
            </Stack>
          </Radio.Group>
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
            <Button type="submit" loading={invite.isPending}>
              Make the invitation
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}
