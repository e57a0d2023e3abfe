"""From a request to packed context: strategies rank, ranks are fused, equal content is said once, budgets hold."""
