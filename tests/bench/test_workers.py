"""The benchmark of workers, at a small size."""

from lincat.bench import workers
from lincat.scale.pool import Here


def test_a_log_is_summed_as_a_stream_and_by_parts(tmp_path):
    job = workers.job_of(workers.write_log(tmp_path, 3000))
    assert job.model.features.n_features_ == 17
    assert workers.stream(job) > 0.0
    assert workers.by(Here(), job, 0) > 0.0
