"""Facts: plain, validated results of a judgement. Whoever judges and reports them needs no engine."""
