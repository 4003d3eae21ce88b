import { Button, Group, Modal, Stack, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { Trouble } from './page.tsx';

interface RenameFormProps {
  readonly title: string;
  /** As it is. */
  readonly name: string;
  readonly onSave: (name: string) => Promise<void>;
  readonly onClose: () => void;
}

/** One name in a dialog; closes when it is saved. */
export function RenameForm({ title, name: before, onSave, onClose }: RenameFormProps) {
  const [name, setName] = useState(before);
  const save = useMutation({ mutationFn: () => onSave(name.trim()), onSuccess: onClose });
  return (
    <Modal opened onClose={onClose} title={title}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          save.mutate();
        }}
      >
        <Stack>
          {save.error !== null && <Trouble error={save.error} doing="The name was not changed" />}
          <TextInput
            label="Name"
            required
            data-autofocus
            maxLength={100}
            value={name}
            onChange={(event) => {
              setName(event.currentTarget.value);
            }}
          />
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
            <Button type="submit" loading={save.isPending}>
              Save
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}
