import { TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { FormDialog } from './form-dialog.tsx';

interface RenameFormProps {
  readonly title: string;
  /** The current name. */
  readonly name: string;
  readonly onSave: (name: string) => Promise<void>;
  readonly onClose: () => void;
}

/** Edits one name in a dialog; closes after saving. */
export function RenameForm({ title, name: before, onSave, onClose }: RenameFormProps) {
  const [name, setName] = useState(before);
  const save = useMutation({ mutationFn: () => onSave(name.trim()), onSuccess: onClose });
  return (
    <FormDialog
      title={title}
      action="Save"
      busy={save.isPending}
      error={save.error}
      doing="Could not change the name"
      onSubmit={() => save.mutate()}
      onClose={onClose}
    >
      <TextInput
        label="Name"
        required
        data-autofocus
        maxLength={100}
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
      />
    </FormDialog>
  );
}
