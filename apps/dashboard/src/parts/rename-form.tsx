import { TextInput } from '@mantine/core';
import { useState } from 'react';
import { FormDialog } from './form-dialog.tsx';
import { useSave } from './use-save.ts';

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
  const save = useSave({ send: () => onSave(name.trim()), after: onClose });
  return (
    <FormDialog
      title={title}
      action="Save"
      save={save}
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
