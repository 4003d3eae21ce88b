import { FileInput, Text } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { BATCH_VIEWS, startBatch } from '../../api/batches.ts';
import { FormDialog } from '../../parts/form-dialog.tsx';
import { useSave } from '../../parts/use-save.ts';

const NO_FILE = 'Select a file';

/** Uploads a file of requests and starts a batch of them. */
export function StartBatch({ onClose }: { readonly onClose: () => void }) {
  const navigate = useNavigate();
  const [file, setFile] = useState<File | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const save = useSave({
    send: startBatch,
    stale: BATCH_VIEWS,
    done: 'Batch started.',
    after: ({ id }) => void navigate({ to: '/batches/$id', params: { id } }),
  });
  return (
    <FormDialog
      title="Start batch"
      ownRules
      action="Start batch"
      save={save}
      doing="Could not start the batch"
      onSubmit={() => {
        if (file === null) setProblem(NO_FILE);
        else save.mutate(file);
      }}
      onClose={onClose}
    >
      <FileInput
        label="File"
        description="JSON Lines, one request per line: up to 200 MB and 50,000 requests."
        placeholder="requests.jsonl"
        accept=".jsonl,application/jsonl,application/x-ndjson"
        required
        clearable
        value={file}
        error={problem}
        onChange={(chosen) => {
          setFile(chosen);
          setProblem(null);
        }}
      />
      <Text size="sm" c="dimmed">
        The whole file is checked first. Then its requests run behind all others of the account and cost what single
        ones do.
      </Text>
    </FormDialog>
  );
}
